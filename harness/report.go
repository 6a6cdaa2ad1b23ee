package harness

// Report is the result of a replay or of a fuzz run in its written forms. The same inputs
// give the same bytes on every machine: a report says neither when nor where it was made.
// Secrets in it are redacted.
type Report struct{ form form }

// form is a report of one of the engines.
type form interface {
	JSON() ([]byte, error)
	HTML() ([]byte, error)
	JUnit() ([]byte, error)
}

// JSON returns the report as indented JSON: belay-report/v1 or belay-fuzz-report/v1.
func (r *Report) JSON() ([]byte, error) { return r.form.JSON() }

// HTML returns the report as one page without scripts, fonts, pictures or links to a
// network. It shows every value as text.
func (r *Report) HTML() ([]byte, error) { return r.form.HTML() }

// JUnit returns the report in the XML form that CI systems read.
func (r *Report) JUnit() ([]byte, error) { return r.form.JUnit() }
