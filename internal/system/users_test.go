package system_test

import (
	"errors"
	"os/user"
	"slices"
	"strconv"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

func directory() system.Directory {
	users := map[string]string{"1001": "alice", "1002": "bob", "998": system.ToolsUser, "1500": system.ToolsUser}
	return system.Directory{
		ByUID: func(uid string) (*user.User, error) {
			if uid == "1004" {
				return nil, errors.New("the file of users cannot be read")
			}
			if users[uid] == "" {
				n, _ := strconv.Atoi(uid)
				return nil, user.UnknownUserIdError(n)
			}
			return &user.User{Uid: uid, Username: users[uid]}, nil
		},
		Groups: func(u *user.User) ([]string, error) {
			if u.Username == "bob" || u.Username == system.ToolsUser {
				return []string{"5"}, nil
			}
			return nil, nil
		},
		Group: func(name string) (*user.Group, error) {
			if name == "developers" {
				return &user.Group{Gid: "5", Name: name}, nil
			}
			return nil, errors.New("no such group")
		},
	}
}

// Ordinary users may ask unless a list says who may; then only those on it, by name, uid or group. Root always may. The
// user of MCP servers never may, by any entry or by none, nor a user of whom the system does not say who it is.
func TestMayAsk(t *testing.T) {
	for _, c := range []struct {
		allow []string
		may   []int
	}{
		{nil, []int{0, 1001, 1002, 1003, 59999}},
		{[]string{"alice"}, []int{0, 1001}},
		{[]string{"1003", "1004"}, []int{0, 1003}},
		{[]string{"@developers"}, []int{0, 1002}},
		{[]string{"@nothing", "carol"}, []int{0}},
		{[]string{"@developers", "alice", "999"}, []int{0, 1001, 1002, 999}},
		{[]string{"@developers", "belay-tools", "998"}, []int{0, 1002}},
	} {
		config := system.Config{Users: system.Users{Allow: c.allow}}
		for _, uid := range []int{0, 1, 998, 999, 1001, 1002, 1003, 1004, 1500, 59999, 60000, 65534} {
			err := config.MayAsk(uid, directory())
			if (err == nil) != slices.Contains(c.may, uid) {
				t.Errorf("allow %v: uid %d: %v", c.allow, uid, err)
			}
		}
	}
}

// A user's own entry counts, by name or uid; others have that of "*".
func TestReviewersOf(t *testing.T) {
	config := system.Config{Reviewers: map[string][]string{"alice": {"carol"}, "1002": {}, "*": {"security"}}}
	for uid, want := range map[int][]string{1001: {"carol"}, 1002: nil, 1003: {"security"}} {
		if got := config.ReviewersOf(uid, directory()); !slices.Equal(got, want) {
			t.Errorf("uid %d: %v, want %v", uid, got, want)
		}
	}
}

func TestOverflowUID(t *testing.T) {
	if uid := system.OverflowUID(); uid < 60000 {
		t.Errorf("%d", uid)
	}
}
