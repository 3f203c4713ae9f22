"""Small written conversations, and decisions asked in them."""

from __future__ import annotations

from typing import Any

from automemory.decision import DecisionContext, EventView, Exchange, RecentEvent


def event(*turns: Exchange, slug: str = "event", title: str = "") -> EventView:
    """The active event after these turns."""
    view = EventView(slug, title or slug, "", turns[0], (turns[0],), 1, 100)
    for turn in turns[1:]:
        view = view.with_turn(turn, 100)
    return view


def context(
    user: str, *before: tuple[str, str], reply: str = "", actions: tuple[str, ...] = (), **more: Any
) -> DecisionContext:
    """A turn after an event of these (user, reply) turns; without them no event is active."""
    active = event(*(Exchange(said, answered) for said, answered in before)) if before else None
    return DecisionContext(Exchange(user, reply, actions), active, **more)


def recent(slug: str, title: str, description: str) -> RecentEvent:
    return RecentEvent(f"daily/2025-06-01/{slug}/{slug}.md", slug, title, description, "2025-06-01")


LOGIN = (
    (
        "Please fix the login form, it takes an empty password",
        "I added a check for an empty password in login.py.",
    ),
    ("Does it also reject passwords of spaces only?", "Yes, it is stripped before the check in login.py."),
)
DEPLOY_ZH = (
    ("请帮我部署登录服务到测试环境", "登录服务已经部署到测试环境，端口是8080。"),
    ("部署之后日志里有报错吗？", "登录服务的日志里没有报错，服务运行正常。"),
)
