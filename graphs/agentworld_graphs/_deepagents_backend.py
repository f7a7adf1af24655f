"""`SimulatedSandbox`: a deepagents backend whose machine is a world."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import wraps
from typing import Any, Never, ParamSpec, TypeVar, Unpack, cast

from deepagents import DeepAgentState
from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
)
from langgraph.errors import GraphBubbleUp

from agentworld_graphs._call_order import wait_for
from agentworld_graphs._call_site import (
    CHECKPOINTER_KEY,
    CallSite,
    follow_writes,
    parent_graphs,
    sent_call,
    write_ref,
)
from agentworld_graphs._interruption import interrupting
from agentworld_graphs._thread_refs import SimState
from agentworld_graphs._world_handle import (
    EnclosingCall,
    WorldOptions,
    handle_of,
    world_of,
)
from agentworld_sim import (
    AccessRefused,
    Observation,
    Scenario,
    ToolCall,
    UsageError,
    World,
    WorldRef,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tools
from agentworld_sim.types.files import without_links

_TOOLKIT = "deepagents-backend/"

P = ParamSpec("P")
T = TypeVar("T")


def blocking(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """A method that runs an asynchronous one to its end."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_sync(method(*args, **kwargs))

    return run


class SimulatedSandbox(SandboxBackendProtocol):
    """Give it to `create_deep_agent(backend=…)`: files and commands are those of a world.

    Every operation but a download is a turn of the world, under the name of the tool that deepagents
    makes of it (`execute`, `write_file`, `read_file`, …). Each command runs in a new shell in the
    machine's working directory, as on a real sandbox: nothing but files stays.

    In a graph with the channel `sim_ref` (`SimDeepAgentState`) the machine goes where the thread goes:
    a thread begins where the world stood when the sandbox was made, and going back or forking takes
    the files along. Without the channel the machine goes on from where it stands, like a real one;
    with a checkpointer, where that would be wrong after going back, the run is stopped with what to do.

    No answer is never a result: it is raised, in a graph as `SimulationInterrupted`.
    """

    def __init__(
        self,
        world: World | HoldsWorld | str | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        Args:
            world: The world that answers; the id of one in `store`; or nothing, for a fresh empty
                machine.
            options: `scenario`, `store`, `model`, `controls` and `answers`, as `WorldOptions` says.

        Raises:
            UsageError: the world has another tool that a graph calls by one of these names.
        """
        self._world = world_of(world, **options)
        self._handle = handle_of(self._world)
        self._start = self._world.ref
        self._refused: dict[str, AccessRefused] = {}
        for binding in known_tools().values():
            if binding.id.startswith(_TOOLKIT):
                try:
                    self._handle.bind(binding.spec)
                except AccessRefused as refused:
                    # The others can be used. Who calls this one is told.
                    self._refused[binding.spec.name] = refused

    @classmethod
    def with_files_of(
        cls, backend: FilesystemBackend, **options: Unpack[WorldOptions]
    ) -> SimulatedSandbox:
        """A sandbox that begins with the files of a backend's folder, under the paths that the backend gives
        them. The folder itself is only read: what `.gitignore` names and what looks like a secret stays out.

        Args:
            backend: A backend of real files, for example `FilesystemBackend(root_dir=…)`.
            options: `model`, `controls` and `answers`, as `WorldOptions` says.
        """
        where = "/" if backend.virtual_mode else str(backend.cwd)
        scenario = Scenario.from_directory(backend.cwd, workdir=where, domains=("terminal", "swe"))
        return cls(**{**options, "scenario": scenario})

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    @property
    def id(self) -> str:
        """The world's id."""
        return self._world.id

    # Commands and files

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109  the protocol's argument
        """Runs a command in a new shell.

        Args:
            command: Any bash text.
            timeout: Seconds on the world's clock; 120 by default.

        Raises:
            ValueError: the timeout is not positive.
        """
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout must be positive, got {timeout}")
        return execute_response(await self._ask("execute", command=command, timeout=timeout))

    execute = blocking(aexecute)

    async def als(self, path: str) -> LsResult:
        """Lists a directory, by name."""
        return LsResult(**structured_result(await self._ask("ls", path=path)))

    ls = blocking(als)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """A page of a text file, or the whole of what is not text."""
        answer = await self._ask("read_file", file_path=file_path, offset=offset, limit=limit)
        return read_result(answer)

    read = blocking(aread)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Creates a file, and the directories above it, or replaces its content."""
        answer = await self._ask("write_file", file_path=file_path, content=content)
        return write_result(answer)

    write = blocking(awrite)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replaces an exact string."""
        answer = await self._ask(
            "edit_file",
            file_path=file_path,
            old_string=old_string,
            new_string=new_string,
            replace_all=replace_all,
        )
        return EditResult(**structured_result(answer))

    edit = blocking(aedit)

    async def adelete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or a directory with all it holds."""
        return DeleteResult(**structured_result(await self._ask("delete", file_path=file_path)))

    delete = blocking(adelete)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Lines with a literal text; below the working directory by default."""
        answer = await self._ask("grep", pattern=pattern, path=path, glob=glob, max_count=max_count)
        return GrepResult(**structured_result(answer))

    grep = blocking(agrep)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Absolute paths of files whose name, or path below `path`, matches."""
        try:
            return glob_result(await self._ask("glob", pattern=pattern, path=path))
        except GraphBubbleUp as failure:
            return InterruptedGlob(failure)

    glob = blocking(aglob)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Puts files onto the machine; the directories above them are made."""
        backend_call = BackendCall()
        found: list[FileUploadResponse] = []
        for path, content in files:
            if not path.startswith("/"):
                found.append(FileUploadResponse(path, "invalid_path"))
                continue
            call = ToolCall("upload_file", {"file_path": path, **_content(content)})
            found.append(upload_response(path, await self._answer(backend_call, call)))
        return found

    upload_files = blocking(aupload_files)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Contents of files. Looking at them is no turn."""
        backend_call = BackendCall()
        async with self._in_turn(backend_call) as entered:
            ref = entered and entered.chain.tip
        with backend_call.interrupting():
            return [await download_from(self._world, path, ref) for path in paths]

    download_files = blocking(adownload_files)

    # How

    async def _ask(self, name: str, **arguments: Any) -> Observation:
        given = {key: value for key, value in arguments.items() if value is not None}
        return await self._answer(BackendCall(), ToolCall(name, given))

    async def _answer(self, backend_call: BackendCall, call: ToolCall) -> Observation:
        """Answers a call where its thread stands; outside of a graph, where the world stands."""
        async with self._in_turn(backend_call) as entered:
            if call.name in self._refused:
                raise AccessRefused(str(self._refused[call.name]))
            answered = await self._handle.answer(call, entered)
            if entered is not None:
                write_ref(entered.chain, backend_call.levels, ())
            return answered.observation

    @asynccontextmanager
    async def _in_turn(self, backend_call: BackendCall) -> AsyncGenerator[EnclosingCall | None]:
        """Holds the machine when the calls before this one are through: reading the ref, the turn and writing the
        ref are one. Gives the call where it stands; `None` outside of a graph that keeps the ref."""
        with backend_call.interrupting():
            backend_call.require_way_back()
            await backend_call.wait_for_earlier()
            async with self._handle.backend_lock:
                site, home = backend_call.site, backend_call.home
                entered = site and self._handle.enter(site, backend_call.base, self._start)
                if entered and home:
                    follow_writes(entered.chain, home)
                yield entered


def _content(content: bytes) -> dict[str, str]:
    try:
        return {"content": content.decode()}
    except UnicodeDecodeError:
        return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


NO_CHANNEL = (
    "this graph keeps checkpoints, but its state has no channel 'sim_ref': after going back in a"
    " thread, the files would be those of later. Give the agent the channel, with"
    " `create_deep_agent(..., state_schema=SimDeepAgentState)` (from agentworld_graphs), or in any"
    " other graph by mixing `SimState` into its state."
)


class BackendCall:
    """The place of one call of a backend. Made where the call is made, used on any event loop."""

    def __init__(self) -> None:
        self.levels = parent_graphs()
        self.home = next((one for one in self.levels if one.has()), None)
        """The nearest graph with the channel `sim_ref`."""

    def interrupting(self) -> AbstractContextManager[None]:
        """Makes our own failures leave the graph as they must; outside of one they are what they are."""
        return interrupting() if self.levels else nullcontext()

    @property
    def site(self) -> CallSite | None:
        """What a world handle orders and remembers the call by."""
        if self.home is None:
            return None
        inner, outer = self.levels[0], self.levels[-1]
        # All of what one step of the outermost graph does is one batch, subagents included.
        step = (outer.info.thread_id, outer.info.checkpoint_id)
        return CallSite(step, inner.info.task_id, inner.call, inner.info)

    def require_way_back(self) -> None:
        """
        Raises:
            UsageError: the thread can be gone back in, and the world would not go with it.
        """
        checkpoints = any(level.configurable.get(CHECKPOINTER_KEY) for level in self.levels)
        if self.home is None and checkpoints:
            raise UsageError(NO_CHANNEL)

    async def wait_for_earlier(self) -> None:
        """Waits for the calls that come before this one: in its message, and in the messages whose
        calls the subagents around it are."""
        for level in reversed(self.levels):
            earlier = level.earlier_tasks()
            await wait_for(
                [future for future, task in earlier if sent_call(task.input) is not None]
            )

    def base(self) -> WorldRef | None:
        """Where the outermost step began; `None` at the beginning of its thread."""
        outer = next((one for one in reversed(self.levels) if one.has()), None)
        return (outer and outer.read(fresh=False)) or None


class SimDeepAgentState(DeepAgentState, SimState):
    """A deep agent's state with the channel `sim_ref`: `create_deep_agent(state_schema=…)`.

    deepagents gives it to every subagent that it builds itself, so one ref goes through all of them.
    A subagent that is given as a compiled graph needs the channel only for going back within itself.
    """


_ENDED = re.compile(r"\n\[Command (?:succeeded|failed) with exit code (\d+)\]\Z")
_HEADER = re.compile(r"\A@@ .* @@\n")


def execute_response(answer: Observation) -> ExecuteResponse:
    result = structured_result(answer)
    if "error" in result or answer.provenance == "enforced":
        # A control said something else than the machine: what it said counts.
        ended = _ENDED.search(answer.text)
        code = int(ended[1]) if ended else (1 if answer.is_error else None)
        return ExecuteResponse(_ENDED.sub("", answer.text), code)
    return ExecuteResponse(**result)


def read_result(answer: Observation) -> ReadResult:
    if answer.provenance == "enforced" and not answer.is_error:
        content = _HEADER.sub("", answer.text)
        return ReadResult(file_data={"content": content, "encoding": "utf-8"})
    return ReadResult(**structured_result(answer))


def write_result(answer: Observation) -> WriteResult:
    result = structured_result(answer)
    # The tool shows the error as it is.
    return WriteResult(error=answer.text) if "error" in result else WriteResult(**result)


def glob_result(answer: Observation) -> GlobResult:
    result = dict(structured_result(answer))
    return GlobResult(**result, truncation_reason="budget" if result.get("truncated") else None)


_UPLOAD_ERRORS = {
    "Is a directory": "is_directory",
    "Not a directory": "invalid_path",
    "File exists": "invalid_path",
    "No such file or directory": "file_not_found",
    "Permission denied": "permission_denied",
}


def upload_response(path: str, answer: Observation) -> FileUploadResponse:
    error: str | None = structured_result(answer).get("error")
    return FileUploadResponse(path, _UPLOAD_ERRORS.get(error, error) if error else None)


class InterruptedGlob(GlobResult):
    """What `glob` gives inside a graph when the world gave no answer.

    deepagents makes a message of every exception that `glob` raises, and an agent must not learn from
    our failures. So this result raises when it is looked at, which is after that.
    """

    def __init__(self, failure: GraphBubbleUp) -> None:
        self._failure = failure

    def __getattribute__(self, name: str) -> Any:
        if name in ("error", "matches", "truncated", "truncation_reason"):
            raise object.__getattribute__(self, "_failure")
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return "InterruptedGlob()"

    def __bool__(self) -> Never:
        raise self._failure


def structured_result(answer: Observation) -> Mapping[str, Any]:
    """The structured result; an error that a control enforced has none of its own."""
    structured: Any = answer.structured
    if not isinstance(structured, dict) or (answer.is_error and answer.provenance == "enforced"):
        return {"error": answer.text}
    return cast("dict[str, Any]", structured)


async def download_from(world: World, path: str, ref: WorldRef | None) -> FileDownloadResponse:
    """The content of one file at a point of a world's history."""
    if not path.startswith("/"):
        return FileDownloadResponse(path, error="invalid_path")
    state = await world.state(ref)
    real = without_links(state.files, path)
    entry = state.files.get(real) if real else None
    if real is None or entry is None:
        return FileDownloadResponse(path, error="is_directory" if real == "/" else "file_not_found")
    if entry.kind == "directory":
        return FileDownloadResponse(path, error="is_directory")
    user = world.scenario.machine.user
    if user != "root" and not entry.mode & (0o400 if entry.owner == user else 0o044):
        return FileDownloadResponse(path, error="permission_denied")
    return FileDownloadResponse(path, await world.read_file(real, at=ref))
