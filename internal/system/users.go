package system

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// Directory tells users and groups of this machine apart; nil members mean the system's own.
type Directory struct {
	ByUID  func(uid string) (*user.User, error)
	Groups func(*user.User) ([]string, error)     // ids of the groups that a user is in
	Group  func(name string) (*user.Group, error) // by its name
}

func (d Directory) withDefaults() Directory {
	if d.ByUID == nil {
		d.ByUID = user.LookupId
	}
	if d.Groups == nil {
		d.Groups = (*user.User).GroupIds
	}
	if d.Group == nil {
		d.Group = user.LookupGroup
	}
	return d
}

// MayAsk reports whether the user's agents may ask, and otherwise why not. Root may. MCP servers of hooks may not,
// whatever the file says: a hook's tool would decide about itself.
func (c *Config) MayAsk(uid int, d Directory) error {
	if uid == 0 {
		return nil
	}
	if len(c.Users.Allow) == 0 && (uid < firstUser || uid > lastUser) {
		return fmt.Errorf("uid %d is no ordinary user's: users.allow of %s can name it", uid, ConfigFile)
	}
	d = d.withDefaults()
	number := strconv.Itoa(uid)
	who, err := d.ByUID(number)
	if err == nil && who.Username == ToolsUser {
		return fmt.Errorf("%s is whom MCP servers of hooks run as, and may never ask", ToolsUser)
	}
	if unknown := user.UnknownUserIdError(0); err != nil && !errors.As(err, &unknown) {
		return fmt.Errorf("the system does not say whether uid %d is %s, who may never ask: %w", uid, ToolsUser, err)
	}
	if len(c.Users.Allow) == 0 {
		return nil
	}
	if slices.Contains(c.Users.Allow, number) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("uid %d has no name on this machine, and users.allow of %s does not list it: %w", uid,
			ConfigFile, err)
	}
	if slices.Contains(c.Users.Allow, who.Username) {
		return nil
	}
	var groups []string
	for _, entry := range c.Users.Allow {
		name, isGroup := strings.CutPrefix(entry, "@")
		if !isGroup {
			continue
		}
		if groups == nil {
			if groups, err = d.Groups(who); err != nil {
				return fmt.Errorf("the groups of %s cannot be told: %w", who.Username, err)
			}
		}
		if g, err := d.Group(name); err == nil && slices.Contains(groups, g.Gid) {
			return nil
		}
	}
	return fmt.Errorf("users.allow of %s does not list %s", ConfigFile, who.Username)
}

// ReviewersOf returns the names of the reviewers whose signature decides the user's questions. A user's own entry
// counts by name or uid; all others have that of "*".
func (c *Config) ReviewersOf(uid int, d Directory) []string {
	number := strconv.Itoa(uid)
	if of, ok := c.Reviewers[number]; ok {
		return of
	}
	if who, err := d.withDefaults().ByUID(number); err == nil {
		if of, ok := c.Reviewers[who.Username]; ok {
			return of
		}
	}
	return c.Reviewers["*"]
}

// Lookup returns the uid of a user that a person names, by name or in digits.
func Lookup(name string) (uid int, err error) {
	if uid, ok := uidOf(name); ok {
		return uid, nil
	}
	who, err := user.Lookup(name)
	if err != nil {
		return -1, err
	}
	uid, ok := uidOf(who.Uid)
	if !ok {
		return -1, errors.New("the system gives no uid in digits for " + name)
	}
	return uid, nil
}

// overflowFile names the uid that the kernel shows for users it cannot map.
const overflowFile = "/proc/sys/kernel/overflowuid"

// OverflowUID returns the uid by which the system shows users that have none here, such as those of another user
// namespace. Many users share it, so that it says of a connection only that its user is unknown.
func OverflowUID() int {
	const usual = 65534
	src, err := files.Start(overflowFile, 32)
	if err != nil {
		return usual
	}
	if uid, ok := uidOf(strings.TrimSpace(string(src))); ok {
		return uid
	}
	return usual
}
