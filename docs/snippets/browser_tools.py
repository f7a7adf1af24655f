from agentworld_graphs import SimulatedBrowserToolkit

toolkit = SimulatedBrowserToolkit(
    pages={
        "https://shop.test/": "<h1>Shop</h1><a href='/bread'>Bread</a>",
        "https://shop.test/bread": "<h1>Bread</h1><p>2.50 a loaf</p>",
    }
)
tools = {tool.name: tool for tool in toolkit.get_tools()}

print(tools["navigate_browser"].invoke({"url": "https://shop.test"}))
print(tools["click_element"].invoke({"selector": "a"}))
print(tools["current_webpage"].invoke({}))
print(tools["extract_text"].invoke({}))
print(tools["navigate_browser"].invoke({"url": "https://shop.test/cake"}))
