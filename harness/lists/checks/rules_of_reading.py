"""The rules whose findings come from reading a file, whatever it is compared with."""

__all__ = ["READING"]

# `code severity`, then indented a line with the title and lines of help.
READING = """
bad-date error
    an `until` that is no date
    Write `until=YYYY-MM-DD`.
bad-encoding warning
    a byte that is not UTF-8
    It can make a name that no test has. Save the file as UTF-8.
bad-prefix error
    a `full:` without a stage head and a test
    Write `full:<head>/<test>`, the head being what a stage's name has before its first `-`.
bad-timeout error
    a TIMEOUT without a number of minutes
    Upstream stops the whole session there. Write `TIMEOUT (90)`.
bare-word error
    a word outside the expression of `-k` or `-m`
    Quote the whole expression: `-k "a and b"`.
byte-order-mark warning
    a byte order mark at the start
    Upstream reads it as part of the first name. Save the file as UTF-8 without it.
conflict-marker error
    a marker of an unresolved merge
    Git left it there. Resolve the conflict and remove the marker; `harness waives merge` leaves fewer.
control-character warning
    a character that is no text
    It can hide what a terminal shows and makes names that no test has. Remove it.
duplicate-key error
    a YAML key that stands twice
    YAML readers keep only one of the two. Join both.
empty-entry error
    a list entry without a test
    Remove the entry.
empty-field error
    a field of a reason without a value
    Write `owner=...` or remove the field.
field-twice error
    a field of a reason that stands twice
    Keep one.
line-too-long error
    a line longer than any test
    The line was not read. Break it up.
marker-twice error
    a marker that stands twice on a line
    Keep one.
missing-key error
    a block without `condition` or `tests`
    Add the key, even if it is empty.
missing-value error
    a `-k` or `-m` without an expression
    Write `-k "..."`.
no-marker error
    a waiver that does not say what is waived
    Upstream takes such a line for a name and waives nothing. Add `SKIP (<bug>)`.
no-test error
    a marker without a test, or in front of it
    The test comes first: `<test> SKIP (<bug>)`.
open-bracket error
    parameters without a closing `]`
    The id was cut. Copy it whole.
open-parenthesis error
    a reason without a closing `)`
    Close it.
open-quote error
    an expression without a closing quote
    Close it before the next blank.
option-twice error
    a second `-k` or `-m`
    Pytest uses the last one only. Join both expressions with `and`.
prefix-in-list error
    a `full:` prefix in a test list
    Prefixes limit waivers. Use the condition of a block.
reason-without-parentheses error
    a reason without parentheses
    Upstream stops the whole session there. Write `SKIP (<reason>)`.
template-syntax error
    mako syntax in a text list
    Upstream renders text lists as templates; here nothing of a list is ever run, so the line was not
    read. Write it out.
text-after-marker error
    text after a marker's value
    Expected another marker or `# comment`.
too-many error
    more findings than a person can read
    The first 10,000 are shown. The file is hardly a list.
unknown-field error
    a field of a reason that seems misspelt
    The fields are `bug`, `owner` and `until`.
unknown-key error
    a YAML key that is none of a list
    It would be ignored. Correct its spelling.
unknown-marker error
    a marker that seems misspelt or misplaced
    Upstream makes it part of the test's name, and the waiver does nothing. The markers are SKIP, XFAIL,
    UNSTABLE, TIMEOUT and ISOLATION.
wrong-type error
    a YAML value of the wrong shape
    This piece was not read. Write what the message expects.
yaml-depth error
    YAML nested deeper than any list
    It was not read.
yaml-feature error
    a YAML anchor, alias, tag or second document
    None is followed, so that no list can grow or construct anything. Write the value out.
yaml-syntax error
    a line that is no YAML
    It was read as empty, the rest was read. Quote the text or repair it.
"""
