"""Static HTML for people: one file, no script, nothing fetched from anywhere.

What tools and models said is hostile until it is escaped: everything goes through `Markup`.
"""

from agentworld_sim.report.html_page import Markup, filters, page, tag

__all__ = ["Markup", "filters", "page", "tag"]
