"""Static HTML for people: one file, no script, nothing fetched from anywhere.

What tools and models said is hostile until it is escaped: everything goes through `Markup`.
"""

from agentworld_sim.report._markup import Markup, tag
from agentworld_sim.report._page import page

__all__ = ["Markup", "page", "tag"]
