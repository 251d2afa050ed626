"""What bygones measures, each file a programme: `python -m benchmarks.audit`.

A library that is missing is named with what to install, instead of a traceback.
"""

import sys
from types import TracebackType

_usual = sys.excepthook


def _say_what_to_install(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, ModuleNotFoundError) and error.name:
        library = error.name.partition(".")[0]
        print(
            f"this benchmark needs {library}, which is not installed: pip install 'bygones[benchmarks]'",
            file=sys.stderr,
        )
    else:
        _usual(kind, error, trace)


sys.excepthook = _say_what_to_install
