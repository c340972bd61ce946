"""The audit of an erasure: a comparison as a folder that opens without a server.

`collect` reads the content off the database, `page` renders it as HTML, `bundle` writes the folder.
Nothing here imports torch.
"""
