package fleettest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// misfitTries are what a person can get wrong or do on purpose. Each is refused with a reason, and taken back.
func misfitTries() []try {
	return []try{
		{"mallet", "adds an event to a log with b's login", "no role writes events by itself",
			denied("b", "INSERT INTO events SELECT * FROM events LIMIT 1")},
		{"mallet", "changes an event of a's with a's own login",
			"no role changes events", denied("a", "UPDATE events SET body = body")},
		{"mallet", "adds a head to a's log with b's login", "a name belongs to its login",
			denied("b", "SELECT add_checkpoint(id, fence, 1, 'x') FROM kernels WHERE name = 'a'")},
		{"mallet", "removes events with an auditor's login",
			"an auditor only reads", denied("alice", "DELETE FROM events")},
		{"mallet", "starts a kernel by the name of a, with a's login", "a name belongs to its key", func(s *stage) outcome {
			return s.refused(s.misfit("a", "a"), "signed by the key")
		}},
		{"mallet", "starts it with a copy of a's keys, too", "one process holds a name", func(s *stage) outcome {
			k := s.misfit("a", "a")
			s.copyKeys(s.a, k)
			return s.refused(k, "holds the kernel name a")
		}},
		{"mallet", "starts a kernel by the name of a, with b's login",
			"the first login that takes a name owns it", func(s *stage) outcome {
				return s.refused(s.misfit("a", "b"), "belongs to the role")
			}},
		{"mallet", "gives the used lease its use back, with b's login",
			"no event records it, and all block", func(s *stage) outcome {
				return s.changed("UPDATE leases SET uses = 0, state = 'active' WHERE id = '"+leaseID+"'::bytea",
					"UPDATE leases SET uses = 1, state = 'exhausted' WHERE id = '"+leaseID+"'::bytea")
			}},
		{"op", "starts a kernel with the login of the schema's owner", "it could change events", func(s *stage) outcome {
			return s.refused(s.misfit("d", "owner"), "it can do too much")
		}},
		{"op", "starts a kernel with an auditor's login", "it could write nothing", func(s *stage) outcome {
			return s.refused(s.misfit("d", "alice"), "it can do too little")
		}},
		{"op", "starts a kernel whose DSN others can read", "it holds a password", func(s *stage) outcome {
			k := s.misfit("d", "a")
			s.must(os.Chmod(k.dsn, 0o644))
			return s.refused(k, "chmod 600")
		}},
		{"op", "starts a kernel whose server shows another's certificate",
			"the name is compared, and nothing is sent", (*stage).otherServer},
		{"op", "starts a kernel on a schema that a newer belay migrated",
			"versions are equal, or it does not start", func(s *stage) outcome {
				s.sql("INSERT INTO schema_versions (version_id, is_applied) VALUES (9999, true)")
				defer s.sql("DELETE FROM schema_versions WHERE version_id = 9999")
				return s.refused(s.misfit("d", "a"), "newer")
			}},
		{"op", "starts a kernel on a schema that was migrated by halves",
			"each step is one transaction", func(s *stage) outcome {
				s.sql("CREATE TABLE first_step AS SELECT * FROM schema_versions WHERE version_id = 1",
					"DELETE FROM schema_versions WHERE version_id = 1")
				defer s.sql("INSERT INTO schema_versions SELECT * FROM first_step", "DROP TABLE first_step")
				return s.refused(s.misfit("d", "a"), "halves")
			}},
		{"op", "changes an event of a's as the database's administrator",
			"carol's belay events verify --fleet names it", func(s *stage) outcome {
				return s.edited()
			}},
		{"carol", "runs it again when the event is as it was", "nothing else was touched", (*stage).verified},
	}
}

// denied holds when PostgreSQL refuses a statement of a login.
func denied(login, statement string) func(*stage) outcome {
	return func(s *stage) outcome {
		err := s.as(login, statement)
		if err == nil {
			return outcome{happened: "it went", saw: "it went"}
		}
		_, why, _ := strings.Cut(err.Error(), "ERROR: ")
		return outcome{held: strings.Contains(why, "SQLSTATE 42501") || strings.Contains(why, "SQLSTATE BL"),
			happened: short(strings.TrimSpace(why), 36), saw: err.Error()}
	}
}

// misfit makes a state directory of a kernel that is not to start: a name, with the login of another one.
func (s *stage) misfit(name, login string) *member {
	s.t.Helper()
	s.misfits++
	k := s.newMember(fmt.Sprintf("misfit-%d", s.misfits), s.login(login), "")
	text, err := os.ReadFile(filepath.Join(k.dir, "belay.yaml"))
	s.must(err)
	text = []byte(strings.Replace(string(text), "kernel: "+k.name+"\n", "kernel: "+name+"\n", 1))
	s.must(os.WriteFile(filepath.Join(k.dir, "belay.yaml"), text, 0o600))
	return k
}

// copyKeys gives a state directory the keys of another one.
func (s *stage) copyKeys(from, to *member) {
	s.t.Helper()
	source, target := filepath.Join(from.dir, "keys"), filepath.Join(to.dir, "keys")
	s.must(os.MkdirAll(target, 0o700))
	list, err := os.ReadDir(source)
	s.must(err)
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(source, e.Name()))
		s.must(err)
		s.must(os.WriteFile(filepath.Join(target, e.Name()), b, 0o600))
	}
}

// refused holds when a kernel lets nothing pass, and says why.
func (s *stage) refused(k *member, why string) outcome {
	s.t.Helper()
	c := k.command("eval")
	c.Stdin = strings.NewReader(runsCommand("s-misfit", "echo"))
	b, _ := c.CombinedOutput()
	out, code := string(b), c.ProcessState.ExitCode()
	o := outcome{held: code != 0 && code != 4 && strings.Contains(out, why), happened: fmt.Sprintf("exit %d", code),
		saw: fmt.Sprintf("exit %d: %s", code, out)}
	if at := strings.Index(out, why); at >= 0 {
		o.happened = "refused: … " + short(out[at:], 25)
	}
	return o
}

// changed holds when every kernel blocks after a row that restricts was changed by hand, and none when it is back.
func (s *stage) changed(statement, back string) outcome {
	if err := s.as("b", statement); err != nil {
		return outcome{happened: "not even changed", saw: err.Error()}
	}
	blocked := s.each(func(k *member) outcome {
		return within(5*time.Second, func() outcome {
			v := k.ask(writesNotebook(leaseSession))
			o := decided(v, phases.Block, "")
			o.held = o.held && v.Kind == phases.KindStore
			return o
		})
	})
	if err := s.as("b", back); err != nil {
		return outcome{happened: "it cannot be put back", saw: err.Error()}
	}
	again := s.each(func(k *member) outcome {
		return within(30*time.Second, func() outcome {
			return decided(k.ask(runsCommand("s-misfit", "echo")), phases.Allow, "")
		})
	})
	return all("all block until it is put back", append(blocked, again...)...)
}

// edited changes a byte of an event, has the logs verified, and puts the byte back.
func (s *stage) edited() outcome {
	const row = "kernel = (SELECT id FROM kernels WHERE name = 'a') AND seq = 2"
	s.sql("CREATE TABLE before AS SELECT * FROM events WHERE "+row,
		"UPDATE events SET body = overlay(body placing 'X'::bytea from 40) WHERE "+row)
	defer s.sql("UPDATE events e SET body = b.body FROM before b WHERE e.kernel = b.kernel AND e.seq = b.seq",
		"DROP TABLE before")
	out, code := s.verify()
	return outcome{held: code == 5 && strings.Contains(out, "forged"),
		happened: fmt.Sprintf("exit %d, and a is forged", code),
		saw:      fmt.Sprintf("exit %d: %s", code, out)}
}
