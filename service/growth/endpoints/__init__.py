"""Endpoints that answer: a chat model behind the OpenAI protocol, or a model in this process."""
