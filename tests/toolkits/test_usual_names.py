"""Tools as people write them: what they bind to by name and arguments, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import AccessRefused, ToolCall, ToolSpec, World, bind
from agentworld_sim.binding import BoundTool
from agentworld_sim.toolkits import binding_for, known_tools
from agentworld_sim.toolkits.fitting import properties
from agentworld_sim.toolkits.usual_names import BY_NAME, USUAL_NAMES

BOUND = """
bash(command) terminal/bash
bash(cmd) terminal/bash(command=cmd)
shell(command) langchain/shell
terminal(command) terminal/bash
run_command(command) terminal/bash-c
execute_command(command) terminal/bash-c
run_shell(command) terminal/bash-c
run_shell_command(command) gemini-cli/run_shell_command
execute(command) deepagents/execute
exec_bash(script) terminal/bash-c(command=script)
read_file(path) filesystem/read_file
read_file(file_path) langchain/read_file
read_file(filename) langchain/read_file(file_path=filename)
write_file(path,content) filesystem/write_file
write_file(filename,content) langchain/write_file(file_path=filename, text=content)
write_file(file_path,text) langchain/write_file
list_files(directory) langchain/list_directory(dir_path=directory)
list_files(path) langchain/list_directory(dir_path=path)
list_directory(path) gemini-cli/list_directory
ls(path) deepagents/ls
edit_file(path,old,new) deepagents/edit_file(file_path=path, old_string=old, new_string=new)
edit_file(file_path,old_string,new_string) deepagents/edit_file
append_file(path,text) langchain/write_file(append:=true, file_path=path)
delete_file(path) langchain/file_delete(file_path=path)
create_file(path,content) langchain/write_file(file_path=path, text=content)
grep(pattern) deepagents/grep
run_sql(query) sqlite/sql_db_query
query_database(sql) sqlite/sql_db_query(query=sql)
sql_db_query(query) sqlite/sql_db_query
sql_db_list_tables(tool_input) sqlite/sql_db_list_tables
get_current_time() common/now
think(thought) common/think
runCommand(cmd,timeout) terminal/bash-c(command=cmd, -timeout)
read_file(path,encoding,filename) -
run_command(command,cwd) -
delete_file(id) -
list_files() langchain/list_directory
think() -
"""
"""A tool and what it binds to by itself; `-` for nothing."""

REFUSED = """
search_files(query)
python(code)
python_repl(code)
run_python(code)
get_weather(city)
send_email(to,subject,body)
web_search(query)
tavily_search(query)
fetch_url(url)
http_get(url)
calculator(expression)
add(a,b)
str_replace_editor(command,path)
git_commit(message)
create_ticket(title)
"""


def tool(signature: str, domain: Any = None) -> ToolSpec:
    name, _, inside = signature.removesuffix(")").partition("(")
    arguments = [one for one in inside.split(",") if one]
    kinds = {one: {"type": "number" if one == "timeout" else "string"} for one in arguments}
    schema = {"type": "object", "properties": kinds, "required": arguments}
    return ToolSpec(name=name, input_schema=schema, domain=domain)


def function(signature: str) -> dict[str, Any]:
    spec = tool(signature)
    return {"name": spec.name, "input_schema": spec.input_schema}


async def bound(*signatures: str) -> list[BoundTool]:
    return bind(await World.create(), [function(one) for one in signatures])


@pytest.mark.parametrize("line", BOUND.split("\n")[1:-1])
async def test_usual_names_bind_by_name_and_arguments(line: str) -> None:
    signature, _, binds_to = line.partition(" ")
    if binds_to == "-":
        with pytest.raises(AccessRefused):
            await bound(signature)
    else:
        (made,) = await bound(signature)
        assert made.spec.binds_to == binds_to


@pytest.mark.parametrize("signature", REFUSED.split())
async def test_what_cannot_be_computed_is_refused_with_what_to_write(signature: str) -> None:
    world = await World.create()
    name = signature.partition("(")[0]
    with pytest.raises(AccessRefused) as refused:
        bind(world, [function(signature)])
    said = str(refused.value)
    assert said.startswith(
        f"{name!r} is refused, because it binds to nothing. Give it an answer (answers={{{name!r}: …}}),"
        " say which known tool it is (binds_to=…), or name a language world model"
        " (AGENTWORLD_MODEL_URL, model=…)."
    )
    assert len(said) < 400 and "\n" not in said
    (made,) = bind(await World.create(answers={name: "done"}), [function(signature)])
    assert made.spec.binds_to == f"stub/{name}"


async def test_what_would_be_ignored_or_is_missing_under_a_usual_name_is_told() -> None:
    world = await World.create()
    for signature, told in (
        ("run_command(cmd,cwd)", "'terminal/bash-c(command=cmd)', but cwd would be ignored."),
        (
            "delete_file(id)",
            "'langchain/file_delete', but that binding needs file_path; id would be",
        ),
    ):
        with pytest.raises(AccessRefused) as refused:
            bind(world, [function(signature)])
        assert f" It would be {told}" in str(refused.value)
    spec = ToolSpec(
        **function("run_command(cmd,cwd)"), binds_to="terminal/bash-c(command=cmd, -cwd)"
    )
    assert await bind(world, [spec])[0]({"cmd": "echo a", "cwd": "/"}) == "a\n"


async def test_an_agent_reads_one_sentence_and_a_developer_all_of_it() -> None:
    world = await World.create()
    world.add_tools([tool("get_weather(city)")])
    with pytest.raises(AccessRefused) as refused:
        await world.step(ToolCall("get_weather", {"city": "Oslo"}))
    assert str(refused.value) == "'get_weather' is refused, because it binds to nothing."
    assert refused.value.__notes__ == [world.refusal("get_weather")]


def test_a_server_s_tool_with_a_usual_name_is_not_taken_for_one() -> None:
    assert binding_for(tool("run_command(cmd)", "mcp")) is None


async def test_files_and_databases_behind_usual_names_are_those_of_the_world() -> None:
    world = await World.create()
    signatures = (
        "create_file(path,content)",
        "append_file(path,text)",
        "run_command(cmd)",
        "edit_file(path,old,new)",
        "read_file(filename)",
        "delete_file(path)",
        "list_files()",
    )
    create, append, run, edit, read, delete, files = bind(world, map(function, signatures))
    await create({"path": "a", "content": "one\n"})
    await append({"path": "a", "text": "two\n"})
    assert await run({"cmd": "cat a"}) == "one\ntwo\n"
    await edit({"path": "/root/a", "old": "two", "new": "2"})
    assert await read({"filename": "a"}) == "one\n2\n"
    assert "a" in (await files()).split("\n")
    await delete({"path": "a"})
    assert await run({"cmd": "ls"}) == ""


async def test_the_clock_is_the_world_s_and_a_thought_changes_nothing() -> None:
    now, today, think = await bound("get_current_time()", "get_current_date()", "think(thought)")
    assert await now() == "2026-03-02T09:00:00+00:00"
    assert await today() == "2026-03-02"
    assert await think({"thought": "hm"}) == "Thought recorded."


async def test_sql_is_run_on_the_world_s_database_in_langchain_s_words() -> None:
    run, names, schema, read = await bound(
        "run_sql(query)",
        "sql_db_list_tables(tool_input)",
        "sql_db_schema(table_names)",
        "read_query(query)",
    )
    made = "CREATE TABLE lamps (id INTEGER PRIMARY KEY, name TEXT)"
    assert await run({"query": made}) == ""
    assert await run({"query": "INSERT INTO lamps (name) VALUES ('Ada'), ('b''c'), (NULL)"}) == ""
    rows = "[(1, 'Ada'), (2, \"b'c\"), (3, None)]"
    assert await run({"query": "SELECT * FROM lamps"}) == rows
    assert await run({"query": "SELECT * FROM lamps WHERE id > 9"}) == ""
    long = f"SELECT '{'word ' * 100}'"
    assert await run({"query": long}) == f"[('{('word ' * 59)[:-1]}...',)]"
    assert await run({"query": "SELECT * FROM lamp"}) == (
        "Error: (sqlite3.OperationalError) no such table: lamp\n[SQL: SELECT * FROM lamp]\n(Background on"
        " this error at: https://sqlalche.me/e/20/e3q8)"
    )
    assert await names({"tool_input": ""}) == "lamps"
    assert await schema({"table_names": "lamps"}) == (
        f"\n{made}\n\n/*\n3 rows from lamps table:\nid\tname\n1\tAda\n2\tb'c\n3\tNone\n*/"
    )
    assert await schema({"table_names": "b, a, lamps"}) == (
        "Error: table_names {'a', 'b'} not found in database"
    )
    assert "'name': 'Ada'" in await read({"query": "SELECT * FROM lamps LIMIT 1"})


def test_every_row_of_the_table_names_a_binding_and_its_arguments() -> None:
    assert len(BY_NAME) == sum(len(usual.names.split()) for usual in USUAL_NAMES)
    for usual in USUAL_NAMES:
        mine = properties(known_tools()[usual.binding].input_schema)
        assert {*usual.arguments, *usual.constants} <= mine.keys()
        assert set(known_tools()[usual.binding].input_schema.get("required", ())) <= {
            *usual.arguments,
            *usual.constants,
        }
