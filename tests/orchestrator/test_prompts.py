"""What a conversation starts with."""

from skillfleet.conversations.messages import transcript_problem
from skillfleet.llm.prompts import opening, system_prompt
from skillfleet_workers.wire.contract import TASKS


def test_the_users_own_system_text_comes_first() -> None:
    assert system_prompt(" Answer in French. \n").startswith("Answer in French.\n\n" + system_prompt(None)[:40])
    assert system_prompt("") == system_prompt("  ") == system_prompt(None)


def test_every_tool_that_is_there_from_the_start_is_explained() -> None:
    assert all(spec.tool in system_prompt(None) for spec in TASKS if not spec.on_demand)


def test_where_skills_are_listed_the_model_is_sent_to_activation_first() -> None:
    told = system_prompt(None)
    assert told.index("`skill`") < told.index("list_skills") < told.index("get_skill")


def test_an_opening_is_a_valid_transcript() -> None:
    messages = opening("What is 6 * 7?", "Be short.")
    assert [message.role for message in messages] == ["system", "user"]
    assert messages[1].content == "What is 6 * 7?"
    assert transcript_problem(messages) is None
