"""Turn every failure into an exit code and one line on standard error. SUPERPROTO_DEBUG=1 shows the traceback."""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from superproto.cli import terminal
from superproto.errors import UserError

OK, OURS, MISTAKE, INTERRUPTED = 0, 1, 2, 130
# Command lines without a verb show the help.
_WITHOUT_A_VERB: tuple[list[str], ...] = ([], ["research"])
_AGAIN_AFTER = 0.05
# What to do about an error of the operating system that no verb has explained.
_CURES = {
    errno.ENOENT: "Check the path.",
    errno.EEXIST: "Give another name.",
    errno.ENOTDIR: "Check the path.",
    errno.EISDIR: "Give a file.",
    errno.EACCES: "Change its mode, or choose another place.",
    errno.EPERM: "Change its mode, or choose another place.",
    errno.EROFS: "Choose another place.",
    errno.ENOSPC: "Make room, or choose another place.",
    errno.EDQUOT: "Make room, or choose another place.",
    errno.ENAMETOOLONG: "Give a shorter name.",
}


def run_command(arguments: Sequence[str]) -> int:
    """Run a command line (without the program's name) and return its exit code."""
    with warnings.catch_warnings(), _termination_as_interrupt(), _lost_interrupts_again():
        warnings.showwarning = _as_note
        try:
            code = _call([*arguments, "--help"] if list(arguments) in _WITHOUT_A_VERB else list(arguments))
            terminal.flush_notes()
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            return _fail("interrupted", INTERRUPTED)
        except Exception as error:
            if _is_interrupt(error):
                return _fail("interrupted", INTERRUPTED)
            if os.environ.get("SUPERPROTO_DEBUG") == "1":
                raise
            return _explain(error)
        finally:
            terminal.drop_notes()


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM, which schedulers and `kill` send, as Ctrl-C, so that started processes are stopped too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt_main_thread() -> None:
    """Send the signal itself where that is possible, because it also ends a wait."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


@contextmanager
def _lost_interrupts_again() -> Iterator[None]:
    """Send a Ctrl-C again that arrived in a destructor or a callback. Python prints a traceback there and goes on."""
    before = sys.unraisablehook
    pending, timers = threading.Event(), []

    def send() -> None:
        pending.clear()
        _interrupt_main_thread()

    def note_lost(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            before(lost)
        elif not pending.is_set():
            # One for several, because a second one would interrupt the way out.
            pending.set()
            timers.append(threading.Timer(_AGAIN_AFTER, send))
            timers[-1].daemon = True
            timers[-1].start()

    sys.unraisablehook = note_lost
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


def _call(arguments: list[str]) -> int:
    import typer

    from superproto.cli.app import complete_app

    try:
        command = typer.main.get_command(complete_app())
        result = command.main(args=arguments, prog_name="superproto", standalone_mode=False)
    except typer.Exit as leaving:
        result = leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        result = leaving.code
    if result == INTERRUPTED:
        raise KeyboardInterrupt
    return result if isinstance(result, int) else OK


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an error was caused by Ctrl-C; an interrupted import raises another error with that cause."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _explain(error: Exception) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader of the output closed the pipe (superproto methods | head -1).
        _forget_stdout()
        return OK
    if isinstance(error, UserError):
        return _fail(str(error), MISTAKE)
    # Typer's and Click's usage errors share no public base class over Typer's versions, but they share this method.
    if hasattr(error, "format_message"):
        return _fail(f"{error.format_message().rstrip('.?')}. {_where_help_is(error)}", MISTAKE)
    if isinstance(error, OSError) and error.filename is not None:
        cure = _CURES.get(error.errno or 0, "")
        return _fail(f"{error.filename}: {error.strerror}. {cure}".rstrip(), MISTAKE)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        _forget_stdout()
        return _fail(
            f"what was to be written could not be: {error.strerror}. Make room, or choose another place.", MISTAKE
        )
    if isinstance(error, UnicodeError):
        return _fail(f"a name has characters that no file can hold ({error}). Rename it.", MISTAKE)
    if isinstance(error, RecursionError):
        return _fail("a value is nested too deeply. Write it flat.", MISTAKE)
    if isinstance(error, MemoryError):
        return _fail(f"out of memory. {error}".strip(), OURS)
    return _fail(f"{type(error).__name__}: {error} (SUPERPROTO_DEBUG=1 shows where)", OURS)


def _forget_stdout() -> None:
    """Redirect standard output to the null device, so that Python does not flush into a closed pipe at exit."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _where_help_is(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"See: {context.command_path if context is not None else 'superproto'} --help"


def _fail(message: str, code: int) -> int:
    terminal.drop_notes()
    line = terminal.without_controls(terminal.one_line(message))
    print(f"error: {line}", file=sys.stderr)
    return code


def _as_note(message: Warning | str, *_: Any, **__: Any) -> None:
    terminal.note(str(message))
