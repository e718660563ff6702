"""A part is written in few row groups, whatever the batches that it is made of."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recall_signal.logs import _parts


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([3], [3]),
        ([3, 3], [6]),
        ([3, 3, 3, 1], [6, 4]),
        ([3, 3, 3, 3], [6, 6]),
        ([9], [9]),
    ],
)
def test_batches_are_written_together(
    sizes: list[int], groups: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parts, "ROW_GROUP", 6)
    kinds = [("id", pa.int64()), ("level", pa.string())]
    schema, path = pa.schema(kinds), tmp_path / "part-0.parquet"
    numbers = iter(range(100))
    batches = [
        pa.RecordBatch.from_pydict(
            {"id": [next(numbers) for _ in range(n)], "level": ["low"] * n}, schema=schema
        )
        for n in sizes
    ]
    assert _parts.write_part(path, batches, schema, {}) == sum(sizes)
    read = pq.read_metadata(path)
    assert [read.row_group(at).num_rows for at in range(read.num_row_groups)] == groups
    assert pq.read_table(path)["id"].to_pylist() == [*range(sum(sizes))]
    assert _parts.levels_of(tmp_path) == ({"low": sum(sizes)} if sizes else {})
