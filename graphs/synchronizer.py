"""The synchronizer, as `langgraph dev` and a LangGraph server serve it; its model is `AUTOMEMORY_MODEL`."""

from automemory.settings import load_settings
from automemory.synchronizer import Synchronizer

settings = load_settings()
graph = Synchronizer(
    settings.folder(),
    settings.chat_model(),
    timezone=settings.timezone,
    agent_id=settings.agent_id,
    prompts_dir=settings.prompts_dir,
).graph
