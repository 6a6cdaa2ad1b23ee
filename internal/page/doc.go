// Package page decides how reports look as HTML: one style for all of them, the summary first, then the
// details. A page needs nothing else: no script, no font, no picture from elsewhere, no network. Whatever a
// report holds, its page shows as text.
package page
