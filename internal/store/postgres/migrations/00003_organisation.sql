-- What the kernels of an organisation have in common beside the rows that restrict, and which process may take a name.

-- +goose Up
-- +goose StatementBegin
-- keys: of the digests that kernels compare with each other, by their use. No role can read them; the function
-- organisation_keys hands them out. gen_random_uuid has 122 random bits.
CREATE TABLE keys (
	use text  PRIMARY KEY,
	key bytea NOT NULL CHECK (octet_length(key) = 32)
);
INSERT INTO keys SELECT u, sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8'))
	FROM unnest('{lease,redact,approval-key,approval-item,call}'::text[]) u;

-- once: in which log events are that there is at most one of in the organisation, such as the use of an approval.
CREATE TABLE once (
	id     bytea   PRIMARY KEY,
	kernel integer NOT NULL,
	seq    bigint  NOT NULL
);

-- checkpoint_key: verifies the heads of the kernel's log. The first process that takes the name sets it.
ALTER TABLE kernels ADD COLUMN checkpoint_key text NOT NULL DEFAULT '';

DROP FUNCTION hold(text, uuid, text, text, interval, interval);
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION organisation_keys() RETURNS SETOF keys
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT * FROM keys;
$$;

-- note_once says in which log events are that there is at most one of.
CREATE FUNCTION note_once(_kernel integer, _fence bigint, _ids bytea[], _seqs bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT own(_kernel, _fence);
	INSERT INTO once (id, kernel, seq) SELECT u.id, _kernel, u.seq FROM unnest(_ids, _seqs) AS u (id, seq);
$$;

-- hold gives a kernel's name to one process. The name is free when it was released, when its holder has not renewed it
-- for `ttl`, or when the holder's session has ended and it has not come back within `grace`. The row's lock makes this wait for a
-- transaction of the holder that is still being written; one that begins later fails on the fence. A process with
-- another checkpoint key is another kernel, whatever its login.
CREATE FUNCTION hold(_name text, _holder uuid, _host text, _version text, _ttl interval, _grace interval, _key text)
RETURNS TABLE (kernel integer, fence bigint, size bigint, tail bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	k kernels%ROWTYPE;
	alive boolean;
	allowed bigint;
BEGIN
	IF NOT EXISTS (SELECT FROM kernels WHERE name = _name) THEN
		IF octet_length(_name) > 63 OR _name COLLATE "C" !~ '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$' THEN
			RAISE EXCEPTION 'a kernel name is 1 to 63 of a-z 0-9 . _ -, with a letter or digit at both ends'
				USING ERRCODE = 'BL011';
		END IF;
		SELECT names INTO STRICT allowed FROM settings FOR UPDATE; -- new names come one after the other: each is counted
		IF (SELECT count(*) FROM kernels WHERE owner = session_user) >= allowed THEN
			RAISE EXCEPTION 'the role % has % kernel names, and one role can take no more', session_user, allowed
				USING ERRCODE = 'BL012';
		END IF;
	END IF;
	INSERT INTO kernels (name) VALUES (_name) ON CONFLICT DO NOTHING;
	SELECT * INTO STRICT k FROM kernels WHERE name = _name FOR UPDATE;
	IF k.owner <> session_user THEN
		RAISE EXCEPTION 'the kernel name % belongs to the role %', _name, k.owner USING ERRCODE = 'BL003';
	END IF;
	IF k.checkpoint_key NOT IN ('', _key) THEN
		RAISE EXCEPTION 'the log of the kernel % is signed by the key %, and this state directory has another one', _name,
			split_part(k.checkpoint_key, '+', 1) USING ERRCODE = 'BL006';
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
		renewed = clock_timestamp(), checkpoint_key = _key
		WHERE t.id = k.id RETURNING t.id, t.fence, t.size, t.tail;
END $$;

-- What is not granted by name is not granted; see Grants.
DO $$ BEGIN EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', current_schema()); END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
