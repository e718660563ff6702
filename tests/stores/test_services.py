"""The servers that the other tests of this folder run on."""

import psycopg
import redis


def test_postgres_knows_vectors(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SELECT '[1,2]'::vector <=> '[2,1]'::vector").fetchone()
    assert row is not None
    assert round(row[0], 6) == 0.2


def test_redis_knows_search_and_json(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert isinstance(client.execute_command("FT._LIST"), list)
        assert client.execute_command("JSON.SET", "a document", "$", "{}")
        client.delete("a document")
