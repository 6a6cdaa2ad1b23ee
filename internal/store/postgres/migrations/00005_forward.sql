-- A kernel whose log is in a store of its own forwards it.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX checkpoints_size ON checkpoints (kernel, size);

-- forward adds events that continue the log of a kernel, from `_first` on, and returns its size then. What is there
-- already has to be the same, byte by byte. `_tail` is the last row of the tree then, and `_tiles` are the rows, from
-- `_first_tile` on, that are full. It asks for no version of the rows that restrict: the log is numbered elsewhere.
CREATE FUNCTION forward(_kernel integer, _fence bigint, _first bigint, _tail bytea, _ids bytea[], _times bigint[],
	_bodies bytea[], _first_tile bigint, _tiles bytea[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	was bigint;
	last bigint := _first + cardinality(_ids) - 1;
BEGIN
	SELECT size INTO was FROM kernels WHERE id = _kernel AND fence = _fence AND owner = session_user FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
	IF _first < 1 OR _first > was + 1 THEN
		RAISE EXCEPTION 'event % does not continue a log of % events', _first, was USING ERRCODE = 'BL007';
	END IF;
	IF _first <= was AND EXISTS (SELECT FROM unnest(_bodies) WITH ORDINALITY AS u (body, n)
		JOIN events e ON e.kernel = _kernel AND e.seq = _first + u.n - 1
		WHERE _first + u.n - 1 <= was AND e.body <> u.body) THEN
		RAISE EXCEPTION 'the log holds another event with one of the numbers % to %', _first, least(was, last)
			USING ERRCODE = 'BL008';
	END IF;
	IF last <= was THEN
		RETURN was;
	END IF;
	UPDATE kernels SET size = last, tail = _tail, renewed = clock_timestamp() WHERE id = _kernel;
	INSERT INTO events (kernel, seq, id, time_ns, body)
		SELECT _kernel, _first + u.n - 1, u.id, u.time_ns, u.body
		FROM unnest(_ids, _times, _bodies) WITH ORDINALITY AS u (id, time_ns, body, n) WHERE _first + u.n - 1 > was;
	INSERT INTO tiles (kernel, n, hashes)
		SELECT _kernel, _first_tile + u.n - 1, u.hashes FROM unnest(_tiles) WITH ORDINALITY AS u (hashes, n)
		ON CONFLICT DO NOTHING;
	IF EXISTS (SELECT FROM unnest(_tiles) WITH ORDINALITY AS u (hashes, n)
		JOIN tiles t ON t.kernel = _kernel AND t.n = _first_tile + u.n - 1 WHERE t.hashes <> u.hashes) THEN
		RAISE EXCEPTION 'the log holds other hashes' USING ERRCODE = 'BL008';
	END IF;
	RETURN last;
END $$;

-- forward_heads adds checkpoints of a kernel that are not there yet, in order. One of more events than the log has is
-- left out, with those behind it. It returns how many were taken, or were there.
CREATE FUNCTION forward_heads(_kernel integer, _fence bigint, _sizes bigint[], _notes bytea[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	was bigint;
	n integer;
BEGIN
	SELECT size INTO was FROM kernels WHERE id = _kernel AND fence = _fence AND owner = session_user FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
	FOR n IN 1 .. cardinality(_sizes) LOOP
		IF _sizes[n] > was THEN
			RETURN n - 1;
		END IF;
		INSERT INTO checkpoints (kernel, size, note) SELECT _kernel, _sizes[n], _notes[n]
			WHERE NOT EXISTS (SELECT FROM checkpoints c
				WHERE c.kernel = _kernel AND c.size = _sizes[n] AND c.note = _notes[n]);
	END LOOP;
	RETURN cardinality(_sizes);
END $$;

DO $$ BEGIN EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', current_schema()); END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
