"""`SimulatedSandbox`: a deepagents backend whose machine is a world."""

from __future__ import annotations

import base64
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Unpack
from weakref import WeakKeyDictionary

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

from agentworld_graphs import _deepagents_results as results
from agentworld_graphs._call_order import CallBatch, wait_for
from agentworld_graphs._call_site import CallSite
from agentworld_graphs._deepagents_results import download_from
from agentworld_graphs._interruption import SimulationInterrupted, as_ours
from agentworld_graphs._parent_graphs import ParentGraph, keeps_checkpoints, parent_graphs
from agentworld_graphs._thread_refs import SimState
from agentworld_graphs._world_handle import (
    EnclosingCall,
    WorldHandle,
    WorldOptions,
    handle_of,
    world_of,
)
from agentworld_sim import (
    AccessRefused,
    Observation,
    Scenario,
    ToolCall,
    ToolSpec,
    UsageError,
    World,
    WorldRef,
)
from agentworld_sim.runtime.sync import TurnLock, run_sync
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tools

_TOOLKIT = "deepagents-backend/"


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
                self._bind(binding.spec)

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

    def _bind(self, spec: ToolSpec) -> None:
        try:
            self._handle.bind(spec)
        except AccessRefused as refused:
            # The others can be used. Who calls this one is told.
            self._refused[spec.name] = refused

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    @property
    def id(self) -> str:
        """The world's id."""
        return self._world.id

    # Commands and files. The synchronous operations are the asynchronous ones, run to their end.

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a command in a new shell.

        Args:
            command: Any bash text.
            timeout: Seconds on the world's clock; 120 by default.

        Raises:
            ValueError: the timeout is not positive.
        """
        return run_sync(self.aexecute(command, timeout=timeout))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109  the protocol's argument
        """As `execute`."""
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout must be positive, got {timeout}")
        return results.execute_response(
            await self._ask("execute", command=command, timeout=timeout)
        )

    def ls(self, path: str) -> LsResult:
        """Lists a directory, by name."""
        return run_sync(self.als(path))

    async def als(self, path: str) -> LsResult:
        """As `ls`."""
        return results.ls_result(await self._ask("ls", path=path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """A page of a text file, or the whole of what is not text."""
        return run_sync(self.aread(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """As `read`."""
        answer = await self._ask("read_file", file_path=file_path, offset=offset, limit=limit)
        return results.read_result(answer)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Creates a file, and the directories above it, or replaces its content."""
        return run_sync(self.awrite(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """As `write`."""
        answer = await self._ask("write_file", file_path=file_path, content=content)
        return results.write_result(answer)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replaces an exact string."""
        return run_sync(self.aedit(file_path, old_string, new_string, replace_all))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """As `edit`."""
        answer = await self._ask(
            "edit_file",
            file_path=file_path,
            old_string=old_string,
            new_string=new_string,
            replace_all=replace_all,
        )
        return results.edit_result(answer)

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or a directory with all it holds."""
        return run_sync(self.adelete(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """As `delete`."""
        return results.delete_result(await self._ask("delete", file_path=file_path))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Lines with a literal text; below the working directory by default."""
        return run_sync(self.agrep(pattern, path, glob, max_count=max_count))

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """As `grep`."""
        answer = await self._ask("grep", pattern=pattern, path=path, glob=glob, max_count=max_count)
        return results.grep_result(answer)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Absolute paths of files whose name, or path below `path`, matches."""
        return run_sync(self.aglob(pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `glob`."""
        try:
            return results.glob_result(await self._ask("glob", pattern=pattern, path=path))
        except GraphBubbleUp as failure:
            return results.InterruptedGlob(failure)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Puts files onto the machine; the directories above them are made."""
        return run_sync(self.aupload_files(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """As `upload_files`."""
        backend_call = BackendCall()
        return [await self._upload(backend_call, path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Contents of files. Looking at them is no turn."""
        return run_sync(self.adownload_files(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """As `download_files`."""
        return await self._download(BackendCall(), paths)

    # How

    async def _ask(self, name: str, **arguments: Any) -> Observation:
        given = {key: value for key, value in arguments.items() if value is not None}
        return await self._answered(BackendCall(), ToolCall(name, given))

    async def _upload(
        self, backend_call: BackendCall, path: str, content: bytes
    ) -> FileUploadResponse:
        if not path.startswith("/"):
            return FileUploadResponse(path, "invalid_path")
        call = ToolCall("upload_file", {"file_path": path, **_content(content)})
        return results.upload_response(path, await self._answered(backend_call, call))

    async def _download(
        self, backend_call: BackendCall, paths: list[str]
    ) -> list[FileDownloadResponse]:
        with _raised_in_graphs(backend_call):
            backend_call.require_way_back()
            await backend_call.turn_comes()
            ref: WorldRef | None = None
            async with one_at_a_time(self._handle):
                entered = self._enter(backend_call)
                if entered is not None:
                    ref = entered.batch.tip
            return [await download_from(self._world, path, ref) for path in paths]

    async def _answered(self, backend_call: BackendCall, call: ToolCall) -> Observation:
        """Answers a call where its thread stands; outside of a graph, where the world stands."""
        with _raised_in_graphs(backend_call):
            if call.name in self._refused:
                raise AccessRefused(str(self._refused[call.name]))
            backend_call.require_way_back()
            await backend_call.turn_comes()
            async with one_at_a_time(self._handle):
                answered = await self._handle.answer(call, self._enter(backend_call))
                backend_call.moved(answered.ref)
                return answered.observation

    def _enter(self, backend_call: BackendCall) -> EnclosingCall | None:
        site = backend_call.site
        if site is None:
            return None
        entered = self._handle.enter(site, backend_call.base, self._start)
        backend_call.stand(entered.batch)
        return entered


@contextmanager
def _raised_in_graphs(backend_call: BackendCall) -> Generator[None]:
    """Makes our own failures leave the graph as they must; outside of one they are what they are."""
    try:
        yield
    except GraphBubbleUp:
        raise
    except Exception as error:
        if not backend_call.in_graph:
            raise
        raise SimulationInterrupted(as_ours(error)) from error


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
        self._own = next((one for one in self.levels if one.has_channel), None)

    @property
    def in_graph(self) -> bool:
        return bool(self.levels)

    @property
    def site(self) -> CallSite | None:
        """What a world handle orders and remembers the call by."""
        if self._own is None:
            return None
        inner, outer = self.levels[0], self.levels[-1]
        return CallSite(
            # All of what one step of the outermost graph does is one batch, subagents included.
            step=(outer.info.thread_id, outer.info.checkpoint_id),
            task=inner.info.task_id,
            call=inner.call,
            attempt=inner.info,
            step_attempt=None,
            earlier=(),
            tasks=None,
            known=True,
        )

    def require_way_back(self) -> None:
        """
        Raises:
            UsageError: the thread can be gone back in, and the world would not go with it.
        """
        if self.in_graph and self._own is None and keeps_checkpoints(self.levels):
            raise UsageError(NO_CHANNEL)

    async def turn_comes(self) -> None:
        """Waits for the calls that come before this one: in its message, and in the messages whose
        calls the subagents around it are."""
        for level in reversed(self.levels):
            await wait_for([*level.earlier_calls])

    def base(self) -> WorldRef | None:
        """Where the outermost step began; `None` at the beginning of its thread."""
        return self._inherited or None

    def stand(self, batch: CallBatch) -> None:
        """Puts `batch` where this call continues."""
        assert self._own is not None
        here = self._own.ref(fresh=True)
        # What is as it was before the step does not know of the calls before this one; the batch does.
        if here and here != self._inherited:
            batch.tip = here

    def moved(self, ref: WorldRef) -> None:
        """The call is answered; the graph's state learns the new ref."""
        if self._own is not None:
            self._own.send(ref)

    @property
    def _inherited(self) -> str:
        outer = self._outer
        return outer.ref(fresh=False) if outer is not None else ""

    @property
    def _outer(self) -> ParentGraph | None:
        return next((one for one in reversed(self.levels) if one.has_channel), None)


_locks: WeakKeyDictionary[WorldHandle, TurnLock] = WeakKeyDictionary()
_guard = threading.Lock()


@asynccontextmanager
async def one_at_a_time(handle: WorldHandle) -> AsyncGenerator[None]:
    """One call of a backend after another: reading the ref, the turn and writing the ref are one."""
    with _guard:
        lock = _locks.setdefault(handle, TurnLock())
    async with lock:
        yield


class SimDeepAgentState(DeepAgentState, SimState):
    """A deep agent's state with the channel `sim_ref`: `create_deep_agent(state_schema=…)`.

    deepagents gives it to every subagent that it builds itself, so one ref goes through all of them.
    A subagent that is given as a compiled graph needs the channel only for going back within itself.
    """
