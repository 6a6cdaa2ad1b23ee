package server

// A body is copied out of its socket by the daemon's processor time, as fast as its caller sends. Bodies of one user of
// system mode are copied one after the other, a piece at a time: with one thread for each of 64 connections the
// system's scheduler would give that user most of the daemon.

// pacedPiece is the largest piece that is copied at once, in bytes.
const pacedPiece = 64 << 10

// paced has reads of bodies wait for each other, on all connections of listeners with the same pace.
func (l *limitedListener) paced(pace chan struct{}) *limitedListener {
	l.pace = pace
	return l
}

// Read implements net.Conn. Reads of more than a header take turns if the listener has a pace. A caller that sends
// nothing has no turn.
func (c *limitedConn) Read(b []byte) (int, error) {
	if c.of.pace == nil || len(b) <= frameBuffer {
		return c.Conn.Read(b)
	}
	return readPaced(c.Conn, b[:min(len(b), pacedPiece)], c.of.pace)
}
