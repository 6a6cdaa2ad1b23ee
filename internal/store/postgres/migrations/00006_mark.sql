-- The high-water mark of a kernel lies outside of the database; here stands that there is one.

-- +goose Up
-- +goose StatementBegin
-- `mark` is the id that the kernel's log has in its mark; '' until it has one.
ALTER TABLE kernels ADD COLUMN mark text NOT NULL DEFAULT '' CHECK (octet_length(mark) <= 64);

-- set_mark notes that the kernel's log has a mark.
CREATE FUNCTION set_mark(_kernel integer, _fence bigint, _mark text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	UPDATE kernels SET mark = _mark WHERE id = _kernel AND fence = _fence AND owner = session_user;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process has taken the kernel name' USING ERRCODE = 'BL001';
	END IF;
END $$;
REVOKE ALL ON FUNCTION set_mark FROM PUBLIC;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$ BEGIN RAISE EXCEPTION 'a log is not taken down by a migration'; END $$;
-- +goose StatementEnd
