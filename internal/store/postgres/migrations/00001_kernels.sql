-- Everything of one organisation is in one schema, which is where goose runs this.
-- What comes from outside is bytea, not text: PostgreSQL's text holds no NUL, and bytes compare as Go compares them.

-- +goose Up
-- +goose StatementBegin
-- kernels: who writes, and the right edge of the log of each. `fence` grows each time that a process takes the name:
-- a transaction with an older one is refused. `tail` is the last row of the tree, which is not full yet.
CREATE TABLE kernels (
	id            integer     PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	name          text        NOT NULL UNIQUE
		CHECK (octet_length(name) <= 63 AND name COLLATE "C" ~ '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$'),
	owner         name        NOT NULL DEFAULT session_user,
	fence         bigint      NOT NULL DEFAULT 0,
	holder        uuid,
	host          text        NOT NULL DEFAULT '',
	version       text        NOT NULL DEFAULT '',
	backend_pid   integer     NOT NULL DEFAULT 0,
	backend_start timestamptz,
	renewed       timestamptz NOT NULL DEFAULT '-infinity',
	size          bigint      NOT NULL DEFAULT 0,
	tail          bytea       NOT NULL DEFAULT '',
	first         bigint      NOT NULL DEFAULT 1,
	through       bigint      NOT NULL DEFAULT 0,
	announced     bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

-- settings: one row. `span` is how many events of one kernel are in one partition, and `names` how many kernels one
-- login can make: each is a few tables.
CREATE TABLE settings (
	span  bigint NOT NULL CHECK (span > 0),
	names bigint NOT NULL DEFAULT 1000 CHECK (names > 0)
);
INSERT INTO settings VALUES (1048576);

CREATE TABLE events (
	kernel  integer NOT NULL,
	seq     bigint  NOT NULL CHECK (seq > 0),
	id      bytea   NOT NULL,
	time_ns bigint  NOT NULL,
	body    bytea   NOT NULL,
	PRIMARY KEY (seq, kernel) -- a partition has one kernel: to look there for it first would find everything
) PARTITION BY LIST (kernel);

-- tiles: the full rows of the tree of each kernel, 32 hashes each.
CREATE TABLE tiles (
	kernel integer NOT NULL,
	n      bigint  NOT NULL,
	hashes bytea   NOT NULL CHECK (octet_length(hashes) = 1024),
	PRIMARY KEY (kernel, n)
);

CREATE TABLE checkpoints (
	kernel integer NOT NULL,
	id     bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
	size   bigint  NOT NULL,
	note   bytea   NOT NULL,
	PRIMARY KEY (kernel, id)
);

-- lookup: in which events of a block terms stand; see package lookup. Its rows come in the order of its key: a block
-- adds to the end of one index, however long the log is.
CREATE TABLE lookup (
	block  bigint   NOT NULL,
	kernel integer  NOT NULL,
	drawer smallint NOT NULL,
	terms  bytea    NOT NULL,
	PRIMARY KEY (kernel, block, drawer)
);
CREATE TABLE lookup_blocks (
	kernel   integer NOT NULL,
	block    bigint  NOT NULL,
	first_ns bigint  NOT NULL,
	last_ns  bigint  NOT NULL,
	PRIMARY KEY (kernel, block)
);
-- +goose StatementEnd

-- +goose StatementBegin
-- hold gives a kernel's name to one process. The name is free when it was released, when its holder has not renewed it
-- for `ttl`, or when the holder's session has ended and it has not come back within `grace`. The row's lock makes this wait for a
-- transaction of the holder that is still being written; one that begins later fails on the fence.
CREATE FUNCTION hold(_name text, _holder uuid, _host text, _version text, _ttl interval, _grace interval)
RETURNS TABLE (kernel integer, fence bigint, size bigint, tail bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	k kernels%ROWTYPE;
	alive boolean;
BEGIN
	INSERT INTO kernels (name) VALUES (_name) ON CONFLICT DO NOTHING;
	SELECT * INTO STRICT k FROM kernels WHERE name = _name FOR UPDATE;
	IF k.owner <> session_user THEN
		RAISE EXCEPTION 'the kernel name % belongs to the role %', _name, k.owner USING ERRCODE = 'BL003';
	END IF;
	SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = k.backend_pid AND
		(a.backend_start IS NULL OR a.backend_start = k.backend_start)) INTO alive;
	IF k.holder IS NOT NULL AND k.holder <> _holder AND k.renewed > clock_timestamp() - _ttl
		AND (alive OR k.renewed > clock_timestamp() - _grace) THEN
		RAISE EXCEPTION 'a process on % holds the kernel name %, last heard of % ago', k.host, _name,
			date_trunc('milliseconds', clock_timestamp() - k.renewed) USING ERRCODE = 'BL002';
	END IF;
	IF to_regclass(format('events_%s', k.id)) IS NULL THEN
		EXECUTE format('CREATE TABLE events_%s (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (seq)', k.id);
		EXECUTE format('ALTER TABLE events ATTACH PARTITION events_%s FOR VALUES IN (%s)', k.id, k.id);
	END IF;
	PERFORM partition_ahead(k.id, 1);
	RETURN QUERY UPDATE kernels t SET fence = t.fence + 1, holder = _holder, host = _host, version = _version,
		backend_pid = pg_backend_pid(),
		backend_start = (SELECT a.backend_start FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()),
		renewed = clock_timestamp()
		WHERE t.id = k.id RETURNING t.id, t.fence, t.size, t.tail;
END $$;

-- partition_ahead makes the partitions of the next `_more` events of a kernel and the one behind them, if they are missing.
CREATE FUNCTION partition_ahead(_kernel integer, _more bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	width bigint := (SELECT span FROM settings);
	now_at bigint := (SELECT size FROM kernels WHERE id = _kernel AND owner = session_user);
	n bigint;
BEGIN
	FOR n IN SELECT generate_series(now_at / width, (now_at + least(_more, 100000)) / width + 1) LOOP
		IF to_regclass(format('events_%s_%s', _kernel, n)) IS NULL THEN
			EXECUTE format('CREATE TABLE events_%s_%s (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', _kernel, n);
			EXECUTE format('ALTER TABLE events_%s ATTACH PARTITION events_%s_%s FOR VALUES FROM (%s) TO (%s)',
				_kernel, _kernel, n, n * width + 1, (n + 1) * width + 1);
			-- An id is unique in its partition. To look for it in all of them would make each commit wait.
			EXECUTE format('CREATE UNIQUE INDEX events_%s_%s_id ON events_%s_%s (id)', _kernel, n, _kernel, n);
		END IF;
	END LOOP;
END $$;

-- renew says that the holder is there. It waits for no disk: what it says is of no worth after a crash.
CREATE FUNCTION renew(_kernel integer, _fence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true); -- a SET of the function would end with it, before the commit
	UPDATE kernels SET renewed = clock_timestamp() WHERE id = _kernel AND fence = _fence AND owner = session_user;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
END $$;

-- release gives the name back.
CREATE FUNCTION release(_kernel integer, _fence bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	UPDATE kernels SET holder = NULL WHERE id = _kernel AND fence = _fence AND owner = session_user;
$$;

-- compact gives up the contents of events 1 to `_through`. The caller's event `_announced` says so.
CREATE FUNCTION compact(_kernel integer, _fence bigint, _through bigint, _announced bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE kernels SET through = _through, announced = _announced
		WHERE id = _kernel AND fence = _fence AND owner = session_user
		AND through < _through AND _through <= size AND _announced > size;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the compaction does not fit the log' USING ERRCODE = 'BL004';
	END IF;
END $$;

-- remove removes the contents of the oldest events that were compacted: whole partitions where it can, else at most
-- `_limit` rows. It returns how many are left.
CREATE FUNCTION remove(_kernel integer, _fence bigint, _limit bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	k kernels%ROWTYPE;
	width bigint := (SELECT span FROM settings);
	n bigint;
	last bigint;
BEGIN
	SELECT * INTO k FROM kernels WHERE id = _kernel AND fence = _fence AND owner = session_user FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
	IF k.first > k.through THEN
		RETURN 0;
	END IF;
	n := (k.first - 1) / width;
	IF (n + 1) * width <= k.through THEN
		EXECUTE format('DROP TABLE IF EXISTS events_%s_%s', _kernel, n);
		last := (n + 1) * width;
	ELSE
		last := least(k.through, k.first + _limit - 1);
		DELETE FROM events e WHERE e.kernel = _kernel AND e.seq >= k.first AND e.seq <= last;
	END IF;
	DELETE FROM lookup l WHERE l.kernel = _kernel AND l.block < last / 1024;
	DELETE FROM lookup_blocks l WHERE l.kernel = _kernel AND l.block < last / 1024;
	UPDATE kernels SET first = last + 1 WHERE id = _kernel;
	RETURN k.through - last;
END $$;

-- own refuses a caller that does not hold the kernel's name.
CREATE FUNCTION own(_kernel integer, _fence bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM FROM kernels WHERE id = _kernel AND fence = _fence AND owner = session_user FOR SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
END $$;

CREATE FUNCTION add_checkpoint(_kernel integer, _fence bigint, _size bigint, _note bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT own(_kernel, _fence);
	INSERT INTO checkpoints (kernel, size, note) VALUES (_kernel, _size, _note);
$$;

CREATE FUNCTION drop_checkpoints(_kernel integer, _fence bigint, _notes bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT own(_kernel, _fence);
	DELETE FROM checkpoints WHERE kernel = _kernel AND note = ANY (_notes);
$$;

-- add_block stores a block of the lookup. It waits for no disk: what a crash takes is made from the events again.
CREATE FUNCTION add_block(_kernel integer, _fence bigint, _block bigint, _first_ns bigint, _last_ns bigint,
	_drawers smallint[], _terms bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT own(_kernel, _fence), set_config('synchronous_commit', 'off', true);
	INSERT INTO lookup (block, kernel, drawer, terms)
		SELECT _block, _kernel, u.drawer, u.terms FROM unnest(_drawers, _terms) AS u (drawer, terms);
	INSERT INTO lookup_blocks VALUES (_kernel, _block, _first_ns, _last_ns);
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
