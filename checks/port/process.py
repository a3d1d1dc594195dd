"""The process of a port: lines in, lines out, and no way for it to hang, flood or outlive the check.

A port is somebody else's program, so nothing is taken for granted: it may not start, hang, end, print garbage or
gigabytes, leave children behind that hold its pipes open. All its output is read as it comes, what is kept of it is
bounded, every wait has a deadline, and at the end its whole process group is killed. Its output is parsed as JSON and
never evaluated.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Any, Final

__all__ = ["MOST_BYTES", "PortFaultError", "PortProcess", "StartError", "shown"]

#: An answer is at most so long; the rest of a longer line is not waited for.
MOST_BYTES: Final = 2**20

_CHUNK = 2**16
_STDERR_KEPT = 2_000  # bytes, of its end
_POLL = 0.05  # seconds between looks at whether the process lives, for its end closes no pipe that a child holds
_GRACE = 0.5  # seconds that a process which closed its output has to end, before it is said to live on


class StartError(Exception):
    """The command cannot be started; the message says why."""


class PortFaultError(Exception):
    """The port does not keep to the protocol.

    Attributes:
        kind: in two or three words: "hangs", "exits", "garbage", "half a line", "too long", "wrong type", "unasked",
            "closes its output", "does not end".
        sent: the request that was not answered as it should be; "" if there was none.
        received: what came instead, bounded.
        stderr: the end of what the port wrote to its standard error.
    """

    def __init__(self, kind: str, message: str, *, sent: str = "", received: str = "", stderr: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.sent = sent
        self.received = received
        self.stderr = stderr


def shown(data: bytes | str, most: int = 200) -> str:
    """What a port printed, for a report: bounded, one line, no control characters."""
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    cut = text[:most]
    told = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
    return told + (f"... ({len(data):,} {'bytes' if isinstance(data, bytes) else 'characters'})" * (len(text) > most))


class PortProcess:
    """One running port. To be closed with `end` or `kill`, whatever happened.

    Args:
        command: the program and its arguments.
        timeout: seconds that the port may take for one answer, and to end.

    Raises:
        StartError: there is no such program, or it cannot be run.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self.timeout = timeout
        self._buffer = bytearray()  # of its output, what is not yet a whole line
        self._stderr = bytearray()
        self._to_send = memoryview(b"")
        self._output_open = True
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise StartError(f"cannot start {command[0]!r}: {error}") from error
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._stdin, self._stdout, self._errors = (_opened(pipe) for pipe in pipes)
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._errors):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._errors, selectors.EVENT_READ)

    # -- exchanges -----------------------------------------------------------------------------------------------

    def exchange(self, lines: Sequence[str]) -> list[Any]:
        """Send requests, one a line, and receive one answer for each, as the JSON value that it is.

        The time-out is for each answer. Keep the lines few: all are sent as fast as the port takes them.

        Raises:
            PortFaultError: the port does anything else.
        """
        self._to_send = memoryview("".join(f"{line}\n" for line in lines).encode())
        if self._to_send:
            self._watch_stdin(True)
        answers: list[Any] = []
        deadline = time.monotonic() + self.timeout
        while len(answers) < len(lines):
            sent = lines[len(answers)]
            for line in self._whole_lines():
                if len(answers) == len(lines):
                    raise self._fault("unasked", "an answer without a request", sent=lines[-1], received=line)
                answers.append(self._parsed(line, lines[len(answers)]))
                deadline = time.monotonic() + self.timeout
            if len(answers) == len(lines):
                break
            sent = lines[len(answers)]
            if len(self._buffer) > MOST_BYTES:
                told = f"a line of more than {MOST_BYTES:,} bytes"
                raise self._fault("too long", told, sent=sent, received=self._buffer)
            if not self._output_open:
                raise self._closed(sent)
            self._pump(min(_POLL, deadline - time.monotonic()))
            if self._process.poll() is not None:
                self._drain()
                if b"\n" not in self._buffer:
                    raise self._ended(sent)
            elif time.monotonic() >= deadline:
                raise self._late(sent)
        if b"\n" in self._buffer:
            raise self._fault("unasked", "an answer without a request", sent=lines[-1], received=self._buffer)
        return answers

    def end(self) -> None:
        """Close the port's input and wait until it has ended.

        Raises:
            PortFaultError: it does not end in time, ends with an exit status other than 0, or still says something.
        """
        try:
            self._watch_stdin(False)
            self._stdin.close()
            deadline = time.monotonic() + self.timeout
            while self._process.poll() is None:
                if time.monotonic() >= deadline:
                    told = f"its input has ended, and {self.timeout:g} s later it still runs"
                    raise self._fault("does not end", told)
                self._pump(min(_POLL, max(deadline - time.monotonic(), 0)))
                self._bounded()
            self._drain()
            if self._buffer:
                raise self._fault("unasked", "output without a request", received=self._buffer)
            if self._process.returncode != 0:
                raise self._fault("exits", f"{self._how_it_ended()} when its input ended, not with exit status 0")
        finally:
            self.kill()

    def kill(self) -> None:
        """End the port and all of its process group at once. May be called twice."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._errors):
            with contextlib.suppress(OSError):
                pipe.close()

    # -- reading and writing -------------------------------------------------------------------------------------

    def _watch_stdin(self, on: bool) -> None:
        registered = not self._stdin.closed and self._stdin.fileno() in self._selector.get_map()
        if on and not registered and not self._stdin.closed:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        elif registered and not on:
            self._selector.unregister(self._stdin)

    def _pump(self, seconds: float) -> None:
        """Write and read what can be, waiting at most so long for it."""
        for key, _ in self._selector.select(max(seconds, 0)):
            if key.fileobj is self._stdin:
                self._write()
            elif key.fileobj is self._stdout:
                self._read_output()
            else:
                self._read_errors()

    def _write(self) -> None:
        try:
            count = os.write(self._stdin.fileno(), self._to_send[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it reads no more: that it does not answer will tell
            count = len(self._to_send)
        self._to_send = self._to_send[count:]
        if not self._to_send:
            self._watch_stdin(False)

    def _read_output(self) -> bool:
        """Whether there was something."""
        try:
            data = os.read(self._stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._output_open = False
            self._selector.unregister(self._stdout)
        self._buffer += data
        return bool(data)

    def _read_errors(self) -> None:
        try:
            data = os.read(self._errors.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(self._errors)
        self._stderr += data
        del self._stderr[:-_STDERR_KEPT]

    def _drain(self) -> None:
        """Read what is left in the pipes of a process that has ended, without waiting and without end."""
        while self._output_open and len(self._buffer) <= MOST_BYTES and self._read_output():
            pass
        if self._errors.fileno() in self._selector.get_map():
            self._read_errors()

    def _bounded(self) -> None:
        if len(self._buffer) > MOST_BYTES:
            raise self._fault("too long", "output without a request, and no end of it", received=self._buffer)

    def _whole_lines(self) -> list[bytes]:
        if b"\n" not in self._buffer:
            return []
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        return lines

    def _parsed(self, line: bytes, sent: str) -> Any:
        if len(line) > MOST_BYTES:
            raise self._fault("too long", f"a line of more than {MOST_BYTES:,} bytes", sent=sent, received=line)
        try:
            return json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            told = "nested too deep" if isinstance(error, RecursionError) else str(error).partition(":")[0].lower()
            raise self._fault("garbage", f"not a line of JSON ({told})", sent=sent, received=line) from None

    # -- faults --------------------------------------------------------------------------------------------------

    def _fault(self, kind: str, message: str, *, sent: str = "", received: bytes | bytearray = b"") -> PortFaultError:
        stderr = shown(bytes(self._stderr).strip(), _STDERR_KEPT)
        return PortFaultError(kind, message, sent=shown(sent, 2_000), received=shown(bytes(received)), stderr=stderr)

    def _late(self, sent: str) -> PortFaultError:
        if self._buffer:
            told = f"a line begun and not ended within {self.timeout:g} s"
            return self._fault("half a line", told, sent=sent, received=self._buffer)
        told = f"no answer within {self.timeout:g} s"
        if self._stderr:
            told += "; it writes to its standard error only"
        return self._fault("hangs", told, sent=sent)

    def _closed(self, sent: str) -> PortFaultError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(min(_GRACE, self.timeout))
        if self._process.poll() is not None:
            return self._ended(sent)
        return self._fault("closes its output", "it runs on, but no answer can come", sent=sent, received=self._buffer)

    def _ended(self, sent: str) -> PortFaultError:
        half = ", in the middle of a line" if self._buffer else ""
        return self._fault(
            "exits", f"{self._how_it_ended()} before it answered{half}", sent=sent, received=self._buffer
        )

    def _how_it_ended(self) -> str:
        code = self._process.returncode
        return f"ended by signal {-code}" if code < 0 else f"ended with exit status {code}"


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # as asked for
    return pipe


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
