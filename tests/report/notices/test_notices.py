import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from critests.report.notices.changed import Notice, notice_of, to_json
from critests.report.notices.delivery import NotDelivered, hand_over, post
from critests.report.store import Index
from tests.report.sample_run import HOSTILE
from tests.report.store.small_run import small_run, store


def after(results: Path, *nights: str, versions: tuple[str, ...] = (), **changes: object) -> Notice:
    """The notice of the last of several nights, each with the verdict of SBX-01; `.` is a night that did not
    test it.
    """
    for night, letter in enumerate(nights):
        last = night == len(nights) - 1
        verdicts = {"SBX-02": "P"} if letter == "." else {"SBX-01": letter, "SBX-02": "P"}
        version = versions[night] if versions else "2.1.0"
        store(results, small_run(verdicts, night=night, version=version, **(changes if last else {})))
    with Index.of(results)[0] as index:
        return notice_of(index, index.runs()[0])


@pytest.mark.parametrize(
    ("nights", "state"),
    [
        ("PF", "broken"),
        ("PW", "broken"),
        ("PU", "broken"),
        ("PB", "broken"),
        ("P.F", "broken"),
        ("UF", "broken"),
        ("FP", "fixed"),
        ("KP", "fixed"),
        ("WP", "fixed"),
        ("PPFP", "flaky"),
        ("FPF", "flaky"),
        ("PFPFFF", "broken"),
        ("PP", ""),
        ("PK", ""),
        ("FF", ""),
        ("FK", ""),
        ("UP", ""),
        ("P.", ""),
        ("PFPF", ""),
        ("PFPFF", ""),
        ("PFPFFFF", ""),
        ("F", ""),
    ],
)
def test_what_counts_as_a_change_of_state(tmp_path: Path, nights: str, state: str) -> None:
    notice = after(tmp_path, *nights)

    assert [change.state.value for change in notice.changes] == ([state] if state else [])
    assert notice.worth_sending is bool(state)


def test_a_new_version_is_compared_with_the_nearest_below_it_and_is_never_flaky(tmp_path: Path) -> None:
    notice = after(tmp_path, "P", "F", "P", "F", "F", versions=("2.1.0", "2.1.0", "2.1.0", "1.6.0", "2.2.0"))

    assert notice.baseline is not None
    assert notice.baseline.version == "2.1.0"
    assert [(change.state.value, change.before, change.now) for change in notice.changes] == [
        ("broken", "passed", "failed")
    ]


def test_a_run_that_could_not_be_completed_says_so_once_and_breaks_nothing(tmp_path: Path) -> None:
    notice = after(tmp_path, "P", "B", exit_code=5, exit_reason="the runtime went away")
    again = small_run({"SBX-01": "B"}, night=9, exit_code=5)
    store(tmp_path, again)

    assert (notice.changes, notice.ended_otherwise) == ([], True)
    assert "the runtime went away" in to_json(notice)["text"]
    with Index.of(tmp_path)[0] as index:
        assert not notice_of(index, index.runs()[0]).worth_sending


def test_the_document_is_bounded_and_harmless(tmp_path: Path) -> None:
    many = [f"SBX-{number:03}" for number in range(80)]
    store(tmp_path, small_run(dict.fromkeys(many, "P")))
    store(tmp_path, small_run(dict.fromkeys(many, "F"), night=1, exit_reason=HOSTILE))

    with Index.of(tmp_path)[0] as index:
        document = to_json(notice_of(index, index.runs()[0]))

    assert document["counts"] == {"broken": 80, "fixed": 0, "flaky": 0}
    assert len(document["changes"]) == 50
    assert document["left_out"] == 30
    assert document["changes"][0]["reason"] == "SBX-000 was not seen"
    assert "\u202e" not in json.dumps(document, ensure_ascii=False)


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers as its path says."""

    # the server makes a new handler for each request
    got: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012 - see above

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.headers.get("Authorization", ""), json.loads(body)))
        self.send_response(int(self.path.strip("/").partition("?")[0]))
        self.send_header("Location", "/204")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.got = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_webhook_gets_the_document_and_the_token(hook: str) -> None:
    post(f"{hook}/204", {"text": "hello"}, token="abc")

    assert Hook.got == [("Bearer abc", {"text": "hello"})]


@pytest.mark.parametrize(
    ("path", "said"), [("500", "answered 500"), ("302", "answered 302"), ("404", "answered 404")]
)
def test_a_webhook_that_refuses_or_points_elsewhere_is_told_without_its_address(
    hook: str, path: str, said: str
) -> None:
    with pytest.raises(NotDelivered, match=said) as caught:
        post(f"{hook}/{path}?key=secret", {}, token="abc")

    assert len(Hook.got) == 1, "no redirection, no second try"
    for secret in ("secret", "abc", hook):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://host/secret",
        "secret",
        "http://",
        "http://[::1/secret",
        "http://127.0.0.1:9/secret",
    ],
)
def test_an_address_that_is_none_or_where_nobody_is_is_told_without_it(url: str) -> None:
    with pytest.raises(NotDelivered, match="webhook") as caught:
        post(url, {}, timeout=2)

    assert "secret" not in str(caught.value)


def test_a_command_gets_the_document(tmp_path: Path) -> None:
    target = tmp_path / "got.json"

    hand_over(
        [sys.executable, "-c", f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read())"],
        {"text": "hello"},
    )

    assert json.loads(target.read_text()) == {"text": "hello"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([sys.executable, "-c", "import time; time.sleep(30)"], "did not end within 0.2 s"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "ended with 3"),
        (["/no/such/program"], "cannot be started"),
        ([], "is empty"),
    ],
)
def test_a_command_that_fails_is_told(command: list[str], said: str) -> None:
    with pytest.raises(NotDelivered, match=said):
        hand_over(command, {}, timeout=0.2 if "sleep" in str(command) else 30)
