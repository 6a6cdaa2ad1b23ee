package server

import (
	"context"
	"net/http"
	"os"
	"testing"
)

// Who is refused by what the system says about the connection.
func TestCheckPeer(t *testing.T) {
	s := &Server{hosts: hostsOf("127.0.0.1:4170")}
	me := os.Geteuid()
	for _, c := range []struct {
		name    string
		peer    any // what the connection's context holds
		host    string
		refused bool
	}{
		{"the owner", peer{unix: true, uid: me}, "belay", false},
		{"another user", peer{unix: true, uid: me + 1}, "belay", true},
		{"root, when that is another user", peer{unix: true, uid: me - 1}, "belay", true},
		{"a peer that cannot be told", peer{unix: true, uid: -1}, "belay", true},
		{"loopback", peer{uid: -1}, "127.0.0.1:4170", false},
		{"loopback under another name", peer{uid: -1}, "belay", true},
		{"a connection of which nothing is known", nil, "belay", true},
	} {
		r, err := http.NewRequestWithContext(context.WithValue(t.Context(), peerKey{}, c.peer), "GET", "http://"+c.host+"/",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		if why := s.checkPeer(r); (why != "") != c.refused {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
