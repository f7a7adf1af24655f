"""A browser that an agent drives by CSS selectors: its history, and what is read off its pages.

What a page says is given (`serve_pages`) or imagined, once per way that leads to it. Everything else
follows from that.
"""

from agentworld_sim.engines.browser.browser_engine import BrowserEngine

__all__ = ["BrowserEngine"]
