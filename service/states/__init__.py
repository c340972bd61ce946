"""States of models: a model that can be asked, whatever was done to it before.

`words` reads how a state is written, `opened` opens one, `endpoint` one behind a server, `allow`
says which ones a service opens.
"""
