"""Tools as people write them for their own agents, `run_command(cmd)` or `delete_file(filename)`, as data: the
names they usually have, and which well-known tool answers them under which names of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_COMMAND = "command cmd script shell_command bash_command command_line"
_PATH = "file_path path filepath filename file_name file absolute_path target_file"
_FOLDER = "dir_path path directory directory_path dir folder_path"
_TEXT = "text content contents file_text data"
_FROM = "source_path source src from_path old_path"
_TO = "destination_path destination dest dst to_path new_path"
_SQL = "query sql statement sql_query"
_SEARCH = "query q search_query search_term keywords question"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualNames:
    """Names that people give to tools which do what one well-known tool does."""

    names: str
    """Of the tools, in snake case, separated by spaces."""
    binding: str
    arguments: Mapping[str, str]
    """The binding's argument to the names that it usually has, separated by spaces."""
    constants: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments of the binding that have one value, as JSON."""


USUAL_NAMES: tuple[UsualNames, ...] = (
    UsualNames(
        names="bash sh shell terminal console",
        binding="terminal/bash",
        arguments={"command": _COMMAND},
    ),
    UsualNames(
        names="run_command execute_command exec_command run_cmd execute_cmd exec execute run_shell execute_shell"
        " shell_exec shell_command run_shell_command execute_shell_command run_bash exec_bash execute_bash"
        " bash_command run_bash_command execute_bash_command run_terminal_command run_in_terminal run_script",
        binding="terminal/bash-c",
        arguments={"command": _COMMAND},
    ),
    UsualNames(
        names="read_file open_file view_file get_file cat_file cat read_text_file get_file_content"
        " get_file_contents read_file_content read_file_contents",
        binding="langchain/read_file",
        arguments={"file_path": _PATH},
    ),
    UsualNames(
        names="write_file create_file save_file write_to_file write_text_file",
        binding="langchain/write_file",
        arguments={"file_path": _PATH, "text": _TEXT},
    ),
    UsualNames(
        names="append_file append_to_file",
        binding="langchain/write_file",
        arguments={"file_path": _PATH, "text": _TEXT},
        constants={"append": "true"},
    ),
    UsualNames(
        names="list_files list_directory list_dir list_folder list_directory_contents ls",
        binding="langchain/list_directory",
        arguments={"dir_path": _FOLDER},
    ),
    UsualNames(
        names="delete_file remove_file file_delete",
        binding="langchain/file_delete",
        arguments={"file_path": _PATH},
    ),
    UsualNames(
        names="copy_file",
        binding="langchain/copy_file",
        arguments={"source_path": _FROM, "destination_path": _TO},
    ),
    UsualNames(
        names="move_file rename_file",
        binding="langchain/move_file",
        arguments={"source_path": _FROM, "destination_path": _TO},
    ),
    UsualNames(
        names="edit_file str_replace replace_in_file search_replace search_and_replace",
        binding="deepagents/edit_file",
        arguments={
            "file_path": _PATH,
            "old_string": "old_string old_str old_text old search",
            "new_string": "new_string new_str new_text new replace replacement",
        },
    ),
    UsualNames(
        names="find_files glob_files glob find_file",
        binding="deepagents/glob",
        arguments={"pattern": "pattern glob glob_pattern file_pattern", "path": _FOLDER},
    ),
    UsualNames(
        names="run_sql execute_sql query_sql sql_query sql query_database query_db db_query"
        " database_query sql_db_query",
        binding="sqlite/sql_db_query",
        arguments={"query": _SQL},
    ),
    UsualNames(
        names="get_current_time current_time get_time now time_now get_current_datetime current_datetime"
        " get_datetime",
        binding="common/now",
        arguments={},
    ),
    UsualNames(
        names="get_current_date current_date get_date get_today today",
        binding="common/today",
        arguments={},
    ),
    UsualNames(
        names="web_search search_web search_the_web search_internet google_search search_google bing_search"
        " online_search web_search_tool",
        binding="search/web_search",
        arguments={"query": _SEARCH},
    ),
    UsualNames(
        names="internet_search",
        binding="tavily/tavily_search",
        arguments={"query": _SEARCH},
    ),
    UsualNames(
        names="visit_webpage visit_page read_page read_webpage read_url fetch_url fetch_page fetch_webpage get_page"
        " get_webpage open_url open_page scrape_url scrape_page scrape_website web_fetch",
        binding="search/web_extractor",
        arguments={"url": "url link page_url address"},
    ),
    UsualNames(
        names="think think_tool",
        binding="common/think",
        arguments={"thought": "thought thoughts reflection reasoning"},
    ),
)

BY_NAME: Mapping[str, UsualNames] = {
    name: usual for usual in USUAL_NAMES for name in usual.names.split()
}

LEFT_OUT = frozenset("timeout timeout_s timeout_seconds timeout_ms description explanation".split())
"""Arguments that do not change what a tool answers: how long it may take, and why it is called."""


def snake_case(name: str) -> str:
    """`browserClick`, `browser-click` and `browser.click` as `browser_click`."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parts.lower()).strip("_")
