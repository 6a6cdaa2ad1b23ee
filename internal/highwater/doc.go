// Package highwater stores, outside of a database, how far the database has
// come and which uses it has recorded. It decides whether a database that is
// opened, or that is written to, is older than one that was acknowledged
// before: restored, replaced or removed.
//
// A mark is one file in a directory of its own. It holds
//
//   - the head of the event log (size and root hash), overwritten in place after each
//     commit and not synced: a power cut may set it back, so that it only ever lags, and a
//     checksum tells a torn head from a whole one;
//   - records, appended and synced: the head at that moment, and uses: what a commit is
//     about to use up, written before that commit. A use without a commit counts as used.
//
// Whatever a power cut leaves of the last record is taken for torn. A record that does not
// verify before one that does is damage, which no power cut makes.
//
// The package claims nothing against a program of the same user: it can delete
// the database, the mark and every trace of them.
package highwater
