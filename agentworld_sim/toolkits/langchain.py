"""LangChain: its shell tools, its shell middleware, and its toolkits for files and for Playwright."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import STRING, STRINGS, KnownTool, ToolkitMaker, arguments

_MODULE = "agentworld_sim.engines.shell.toolkits.langchain"
_shell_tool = ToolkitMaker(toolkit="langchain", domain="terminal", operations=_MODULE)
_file_tool = ToolkitMaker(
    toolkit="langchain", domain="swe", operations=_MODULE, failing="file_failing"
)
_browser_tool = ToolkitMaker(
    toolkit="playwright-toolkit", domain="web", operations="web", engine="web"
)

_COMMANDS = {"anyOf": [STRING, STRINGS]}
_TWO_PATHS = "source_path destination_path"

TOOLS: tuple[KnownTool, ...] = (
    _shell_tool(
        "terminal",
        "Run shell commands on this Linux machine.",
        arguments("commands", commands=_COMMANDS),
        failing="terminal_failing",
    ),
    _shell_tool(
        "shell",
        "Run a shell command in a session that stays open, or restart the session.",
        "command?:string|null restart?:boolean|null",
        failing="session_failing",
        keeps="all",
    ),
    _shell_tool(
        "shell-session",
        "Run a shell command in a session that stays open, or restart the session.",
        arguments(
            "command?:string|null restart?:boolean|null command_timeout?:number startup_timeout?:number"
            " max_output_lines?:integer max_output_bytes?:integer workspace_root? env?"
            " startup_commands?:strings",
            env={"type": "object", "additionalProperties": STRING},
        ),
        # Of the middleware, which is set up with more than the model is shown.
        names=(),
        operation="shell_session",
        failing="session_failing",
        keeps="all",
    ),
    _file_tool("read_file", "Read file from disk.", "file_path"),
    _file_tool("write_file", "Write file to disk.", "file_path text append?:boolean"),
    _file_tool("list_directory", "List files and directories in a specified folder.", "dir_path?"),
    _file_tool("copy_file", "Create a copy of a file in a specified location.", _TWO_PATHS),
    _file_tool("move_file", "Move or rename a file from one location to another.", _TWO_PATHS),
    _file_tool("file_delete", "Delete a file.", "file_path"),
    _file_tool(
        "file_search",
        "Search for files below a directory by a shell pattern for their names.",
        "pattern dir_path?",
    ),
)

PLAYWRIGHT_TOOLS: tuple[KnownTool, ...] = (
    _browser_tool("click_element", "Clicks on an element.", "selector"),
    _browser_tool("navigate_browser", "Opens a URL.", "url"),
    _browser_tool("previous_webpage", "Goes back in the history.", ""),
    _browser_tool("extract_text", "Gives all text of the page.", ""),
    _browser_tool("extract_hyperlinks", "Gives all links of the page.", "absolute_urls?:boolean"),
    _browser_tool("get_elements", "Gives attributes of elements.", "selector attributes?:strings"),
    _browser_tool("current_webpage", "Gives the URL of the page.", ""),
    _browser_tool(
        "serve_pages",
        "Puts pages where the browser finds them.",
        arguments("pages", pages={"type": "object", "additionalProperties": {"type": "object"}}),
        # No tool of an agent: it puts pages where the browser finds them.
        names=(),
    ),
)
