"""Sessions and tokens of all accounts in the browser."""

from __future__ import annotations

from selenium.webdriver.common.by import By

from tests.support.consolebrowser import Console

SESSIONS = "[aria-label='Sessions of the console'] tbody tr"


def users(console: Console) -> list[str]:
    """Whose sessions are listed, the last used first."""
    code = "return [...document.querySelectorAll(arguments[0])].map((r) => r.cells[0].innerText)"
    return list(console.script(code, SESSIONS))


def press(console: Console, text: str) -> None:
    button = f"//*[self::main or self::dialog]//button[normalize-space()='{text}']"
    console.until(lambda: console.browser.find_elements(By.XPATH, button))[-1].click()


def test_an_operator_ends_the_sessions_of_an_account(console: Console, somebody: Console) -> None:
    somebody.log_in("nobody")
    console.open("/sessions")
    console.until(lambda: "nobody" in users(console))
    console.browser.find_element(By.LINK_TEXT, "nobody").click()
    console.until(lambda: set(users(console)) == {"nobody"})
    assert console.browser.current_url.endswith("/sessions?user=nobody")
    press(console, "End all of nobody")
    console.see("nobody has to log in again in 1 browser")
    press(console, "End")
    console.see("No session is open.")
    somebody.open("/")
    somebody.arrive("/admin/login/")
    console.open("/audit?user=operator&verb=delete&resource=sessions")
    console.until(lambda: len(console.all("main tbody tr")) == 1)


def test_ones_own_session_is_marked_and_has_no_end(console: Console) -> None:
    console.open("/sessions?user=operator")
    console.until(lambda: console.all(SESSIONS))
    this = [row.text for row in console.all(SESSIONS) if "this one" in row.text]
    assert len(this) == 1 and "127.0.0.1" in this[0] and "Chrome" in this[0]
    assert not console.all(f"{SESSIONS}:has(.badge) button")


def test_a_viewer_looks_and_ends_none_of_others(somebody: Console) -> None:
    somebody.log_in("viewer")
    somebody.open("/sessions?user=operator")
    somebody.until(lambda: set(users(somebody)) == {"operator"})
    assert not somebody.all(f"{SESSIONS} button")
    assert not [b for b in somebody.all("main button") if b.text.startswith("End")]


def test_who_has_no_role_is_refused(somebody: Console) -> None:
    somebody.log_in("nobody")
    somebody.open("/sessions")
    somebody.see("this takes the role polyplane:viewers")
