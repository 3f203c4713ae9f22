"""A small chat agent that remembers: its model is `AUTOMEMORY_MODEL`, its vault `AUTOMEMORY_VAULT`."""

from langchain.agents import create_agent

from automemory.middleware import AutoMemoryMiddleware
from automemory.settings import load_settings

settings = load_settings()
graph = create_agent(
    settings.chat_model(),
    system_prompt="You are a helpful assistant.",
    middleware=[AutoMemoryMiddleware(settings.memory(), inject="summary")],
    name="chat",
)
