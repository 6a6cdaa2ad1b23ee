-- What kernels say of themselves, and what all of them deny.

-- +goose Up
-- +goose StatementBegin
-- reports: what each kernel said last. It restricts nothing, and counts as far as one believes the kernel.
CREATE TABLE reports (
	kernel integer     PRIMARY KEY,
	at     timestamptz NOT NULL,
	body   bytea       NOT NULL CHECK (octet_length(body) <= 8192)
) WITH (fillfactor = 50);

-- denials: what no kernel runs. A row is added and never changed; event `seq` of `kernel` records it.
CREATE TABLE denials (
	id     bigint  PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	name   uuid    NOT NULL UNIQUE,
	kernel integer NOT NULL,
	seq    bigint  NOT NULL,
	body   bytea   NOT NULL CHECK (octet_length(body) <= 32768)
);
-- +goose StatementEnd

-- +goose StatementBegin
-- report replaces what a kernel says of itself. It waits for no disk, as renew does.
CREATE FUNCTION report(_kernel integer, _fence bigint, _body bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	PERFORM own(_kernel, _fence);
	INSERT INTO reports VALUES (_kernel, clock_timestamp(), _body)
		ON CONFLICT (kernel) DO UPDATE SET at = EXCLUDED.at, body = EXCLUDED.body;
END $$;

-- deny adds a denial that the kernel's log has recorded. One of the same name has to be the same: names stand in logs that
-- other kernels read before the row is there.
CREATE FUNCTION deny(_kernel integer, _fence bigint, _name uuid, _seq bigint, _body bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM own(_kernel, _fence);
	IF NOT EXISTS (SELECT FROM events WHERE kernel = _kernel AND seq = _seq) THEN
		RAISE EXCEPTION 'no event records the denial' USING ERRCODE = 'BL010';
	END IF;
	INSERT INTO denials (name, kernel, seq, body) VALUES (_name, _kernel, _seq, _body) ON CONFLICT (name) DO NOTHING;
	IF NOT EXISTS (SELECT FROM denials WHERE name = _name AND body = _body) THEN
		RAISE EXCEPTION 'another denial has this name' USING ERRCODE = 'BL010';
	END IF;
END $$;

-- tell wakes the kernels that listen: on the channel that is called like the schema.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM pg_notify(TG_TABLE_SCHEMA, TG_TABLE_NAME);
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT ON changes FOR EACH STATEMENT EXECUTE FUNCTION tell();
-- A row that is changed by hand is looked at as soon as a new one.
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON denials FOR EACH STATEMENT EXECUTE FUNCTION tell();

-- A kernel has come, or a process has taken or given back its name.
CREATE TRIGGER tell AFTER INSERT ON kernels FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER tell_holder AFTER UPDATE OF holder ON kernels FOR EACH ROW WHEN (OLD.holder IS DISTINCT FROM NEW.holder)
	EXECUTE FUNCTION tell();

-- What is not granted by name is not granted; see Grants.
DO $$ BEGIN EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', current_schema()); END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
