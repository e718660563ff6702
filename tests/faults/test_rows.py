"""The rows of the list of reproduced faults, and the tests that keep each of them mended.

Each of these tests names its rows in its docstring. Rows are named as in that list: B for confident
nonsense, C for one failing part that takes another with it, D for the selector and reports, F for
files, terminal and packaging.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ROWS: dict[str, tuple[str, ...]] = {
    "B5 calibration files that give nonsense": (
        "calibration/test_model.py::test_other_files_are_refused",
        "calibration/test_model.py::test_levels_that_would_be_constant_are_refused",
        "faults/test_files.py::test_b5_no_foreign_text_comes_out_of_a_file",
    ),
    "B6 cuts that nothing or everything reaches": (
        "core/test_thresholds.py::test_a_cut_that_nothing_or_everything_reaches_is_refused",
        "faults/test_settings.py::test_b6_a_cut_on_separation_that_everything_passes",
    ),
    "B13 an encoder that sorts what it is given": (
        "faults/test_steps.py::test_b13_an_encoder_sorts",
    ),
    "B14 stored metadata that looks like a report": (
        "faults/test_steps.py::test_b14_a_stored_report_is_never_ours",
    ),
    "C1 cancellations as a call completes": (
        "core/test_timeouts.py::test_a_cancellation_as_the_call_completes_is_raised",
        "benchmarks/test_stress.py::test_every_scenario_finds_nothing",
    ),
    "C2 a hanging model of another wrapper": (
        "core/test_timeouts.py::test_calls_that_hang_do_not_pile_up",
        "faults/test_isolation.py::test_c2_an_encoder_that_hangs_takes_no_thread_from_another_wrapper",
        "faults/test_isolation.py::test_c2_a_store_that_hangs_takes_no_thread_from_another_wrapper",
        "benchmarks/test_stress.py::test_every_scenario_finds_nothing",
    ),
    "C3 a BaseException of an extra step": (
        "core/test_flow.py::test_a_panic_of_an_extra_step_is_a_failure",
        "faults/test_steps.py::test_c3_whatever_an_answer_raises_when_read",
        "faults/test_steps.py::test_c3_whatever_a_part_raises",
        "faults/test_steps.py::test_c3_a_handler_that_fails",
        "integrations/test_corrective.py::test_c3_whatever_an_extra_step_raises_costs_only_itself",
        "langchain/test_chain.py::test_c3_whatever_a_rewrite_raises_costs_only_itself",
    ),
    "C4 an adapter or calibration of a wrong kind": (
        "core/test_store_reader.py::test_what_an_adapter_does_wrong_becomes_a_reason",
        "core/test_flow.py::test_a_calibration_that_answers_something_else_has_failed",
        "core/test_stores.py::test_registering_anything_else_is_refused",
    ),
    "C5 StopIteration of the wrapped retriever": (
        "core/test_flow.py::test_a_stop_iteration_of_the_retriever_is_raised_as_it_is",
    ),
    "C6 async code that blocks": (
        "faults/test_blocking.py::test_c6_a_selector_that_never_awaits_does_not_hold_the_loop",
        "faults/test_blocking.py::test_c6_a_model_is_run_in_a_thread_once_it_was_seen_to_block",
    ),
    "C7 calls that cannot be stopped": (
        "core/test_timeouts.py::test_calls_that_hang_do_not_pile_up",
        "core/test_timeouts.py::test_cancelled_calls_are_counted_once_their_time_is_up",
        "faults/test_isolation.py::test_c7_calls_that_hold_every_thread_are_said_once",
        "faults/test_isolation.py::test_c7_handlers_that_resist_are_bounded",
        "faults/test_isolation.py::test_c7_encoders_that_resist_are_bounded_in_a_postprocessor",
        "benchmarks/test_stress.py::test_every_scenario_finds_nothing",
        "benchmarks/test_stress.py::test_a_bound_that_does_not_hold_is_found",
    ),
    "C8 a failing encoder is asked once": (
        "faults/test_steps.py::test_c8_a_failing_encoder_is_asked_once",
        "langchain/test_arms_edges.py::test_one_that_fails_is_asked_once",
    ),
    "C9 the demo encoder on an event loop": (
        "llama_index/test_calls_parity.py::test_the_demo_encoder_leaves_the_loop_alone",
    ),
    "C10 large metadata and long texts on an event loop": (
        "faults/test_blocking.py::test_c10_no_step_holds_the_loop",
    ),
    "C11 forks and locks": ("calibration/test_auto_processes.py::test_no_lock_hangs_a_fork",),
    "D7 a lone surrogate in an id": ("faults/test_steps.py::test_d7_a_lone_surrogate_is_json",),
    "F1 escape sequences": ("faults/test_files.py::test_f1_no_escape_sequence_reaches_a_terminal",),
    "F2 links and devices among the texts": (
        "cli/test_folder.py::test_pipes_and_broken_links_are_not_opened",
        "cli/test_folder.py::test_links_are_read_only_within_the_folder",
        "faults/test_files.py::test_f2_a_named_file_must_be_a_regular_one",
    ),
    "F3 kills during a save": (
        "calibration/test_auto_file.py::test_killed_in_the_middle_it_leaves_a_good_file",
        "calibration/test_model.py::test_leftovers_of_killed_processes_are_removed_at_the_next_save",
    ),
    "F4 the vector cache": (
        "core/test_vector_cache.py::test_f4_something_else_than_vectors_is_refused",
        "core/test_vector_cache.py::test_a_new_folder_is_the_users_alone",
        "faults/test_files.py::test_f4_files_are_the_users_alone",
    ),
    "F5 packages without their extra": (
        "langchain/test_optional_packages.py::test_another_import_that_fails_is_not_dressed_up",
        "cli/test_main.py::test_without_the_extra",
        "faults/test_extras.py::test_f5_a_missing_framework_names_its_extra",
        "faults/test_extras.py::test_f5_another_missing_module_passes_unchanged",
        "faults/test_extras.py::test_f5_one_framework_does_without_the_other",
    ),
    "F6 the API key of a model": (
        "llama_index/test_calls_parity.py::test_an_api_key_of_an_encoder_is_not_printed",
        "faults/test_settings.py::test_f6_no_key_is_printed",
    ),
    "F7 links of the README": ("docs/test_pages.py::test_the_readme_stands_on_its_own",),
    "F8 labelled questions": (
        "cli/test_calibrate.py::test_labelled_queries_in_the_format_of_evaluate",
    ),
}
"""Row -> the tests that fail where it comes back."""


NAMED = {
    *("B5", "B6", "B13", "B14", "D7"),
    *(f"C{number}" for number in range(1, 12)),
    *(f"F{number}" for number in range(1, 9)),
}
"""Rows that are kept here."""


def docstring_of(test: str) -> str:
    """The docstring of a test, "" for none; it fails where there is no such test."""
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n for n in ast.walk(tree) if isinstance(n, functions) and n.name == name]
    assert found, f"there is no {test}"
    return ast.get_docstring(found[0]) or ""


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_row_name_it(row: str) -> None:
    name = row.split()[0]
    for test in ROWS[row]:
        assert re.search(rf"\b{name}\b", docstring_of(test)), f"{test} does not name {name}"


def test_every_row_has_its_tests() -> None:
    assert {row.split()[0] for row in ROWS} == NAMED
    assert all(ROWS.values())
