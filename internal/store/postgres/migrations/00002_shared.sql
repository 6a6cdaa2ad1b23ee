-- What restricts, shared by all kernels of the organisation.

-- +goose Up
-- +goose StatementBegin
-- shared: one row. A transaction that changes a row of the tables below holds this row's lock from before it looks at
-- them until it has ended. `version` counts such transactions; `tables` are the digests of the tables then
-- (package restrict), and event `seq` of `kernel` carries the digest of those. `leaf` is where the tree has its hash.
CREATE TABLE shared (
	version       bigint  NOT NULL,
	tables        bytea   NOT NULL,
	kernel        integer NOT NULL,
	seq           bigint  NOT NULL,
	leaf          bigint  NOT NULL,
	wall_ns       bigint  NOT NULL,
	state_version bigint  NOT NULL
) WITH (fillfactor = 20);
INSERT INTO shared VALUES (0, '', 0, 0, 0, 0, 0);

-- changes: which rows each of the last versions has changed, so that a kernel can follow without reading all.
CREATE TABLE changes (
	version bigint PRIMARY KEY,
	rows    bytea  NOT NULL
);

CREATE TABLE latches (
	runtime  bytea  NOT NULL,
	session  bytea  NOT NULL,
	since_ns bigint NOT NULL,
	body     bytea  NOT NULL,
	PRIMARY KEY (runtime, session)
);

CREATE TABLE approvals (
	id         bytea  PRIMARY KEY,
	kind       bytea  NOT NULL,
	key        bytea  NOT NULL,
	state      text   NOT NULL,
	credential bytea  NOT NULL,
	runtime    bytea  NOT NULL,
	session    bytea  NOT NULL,
	agent      bytea  NOT NULL,
	ends_ns    bigint NOT NULL,
	body       bytea  NOT NULL
);
CREATE INDEX approvals_key ON approvals (kind, key, id);
CREATE INDEX approvals_state ON approvals (state, ends_ns);
CREATE INDEX approvals_owner ON approvals (credential, kind, state);

CREATE TABLE leases (
	id            bytea  PRIMARY KEY,
	parent        bytea  NOT NULL,
	depth         bigint NOT NULL,
	runtime       bytea  NOT NULL,
	session       bytea  NOT NULL,
	agent         bytea  NOT NULL,
	credential    bytea  NOT NULL,
	state         text   NOT NULL,
	uses          bigint NOT NULL CHECK (uses >= 0 AND uses <= max_uses),
	max_uses      bigint NOT NULL,
	not_before_ns bigint NOT NULL,
	expires_ns    bigint NOT NULL,
	boot          bytea  NOT NULL,
	boot_from_ns  bigint NOT NULL,
	boot_until_ns bigint NOT NULL,
	token         bytea  NOT NULL UNIQUE,
	body          bytea  NOT NULL
);
CREATE INDEX leases_holder ON leases (session, agent, runtime);
CREATE INDEX leases_credential ON leases (credential, state);
CREATE INDEX leases_ends ON leases (expires_ns);

CREATE TABLE runs (
	runtime  bytea  NOT NULL,
	session  bytea  NOT NULL,
	run      bytea  NOT NULL,
	version  bigint NOT NULL,
	used_ns  bigint NOT NULL,
	metadata bytea  NOT NULL,
	retries  bytea  NOT NULL,
	PRIMARY KEY (runtime, session, run)
);
CREATE INDEX runs_used ON runs (used_ns);

CREATE TABLE state (
	namespace bytea  NOT NULL,
	key       bytea  NOT NULL,
	version   bigint NOT NULL,
	value     bytea  NOT NULL,
	PRIMARY KEY (namespace, key)
);
-- +goose StatementEnd

-- +goose StatementBegin
-- append writes events of one kernel, and refuses what does not fit: a holder that lost its name, a log that is not as
-- long as the writer knows it, rows that restrict of another version than the writer decided by, an id that is taken.
CREATE FUNCTION append(_kernel integer, _fence bigint, _size bigint, _version bigint, _tail bytea, _ids bytea[],
	_times bigint[], _bodies bytea[], _first_tile bigint, _tiles bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE kernels SET size = _size + cardinality(_ids), tail = _tail, renewed = clock_timestamp()
		WHERE id = _kernel AND fence = _fence AND size = _size AND owner = session_user;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name, or has written to its log' USING ERRCODE = 'BL001';
	END IF;
	IF (SELECT version FROM shared) <> _version THEN
		RAISE EXCEPTION 'rows that restrict have changed' USING ERRCODE = 'BL005';
	END IF;
	INSERT INTO events (kernel, seq, id, time_ns, body)
		SELECT _kernel, _size + u.n, u.id, u.time_ns, u.body
		FROM unnest(_ids, _times, _bodies) WITH ORDINALITY AS u (id, time_ns, body, n);
	IF cardinality(_tiles) > 0 THEN
		INSERT INTO tiles (kernel, n, hashes)
			SELECT _kernel, _first_tile + u.n - 1, u.hashes FROM unnest(_tiles) WITH ORDINALITY AS u (hashes, n);
	END IF;
END $$;

-- lock_shared makes the caller's transaction the only one that changes rows that restrict, until it ends.
CREATE FUNCTION lock_shared() RETURNS SETOF shared
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT * FROM shared FOR UPDATE;
$$;

-- advance notes a change of rows that restrict; `_kernel` is about to append the event `_seq` that records it.
CREATE FUNCTION advance(_kernel integer, _fence bigint, _version bigint, _tables bytea, _seq bigint, _leaf bigint,
	_wall_ns bigint, _state_version bigint, _rows bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM own(_kernel, _fence);
	UPDATE shared SET version = _version, tables = _tables, kernel = _kernel, seq = _seq, leaf = _leaf,
		wall_ns = _wall_ns, state_version = _state_version WHERE version = _version - 1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'rows that restrict have changed' USING ERRCODE = 'BL005';
	END IF;
	INSERT INTO changes VALUES (_version, _rows);
	DELETE FROM changes WHERE version <= _version - 1024;
END $$;

-- What is not granted by name is not granted; see Grants.
DO $$ BEGIN EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', current_schema()); END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
