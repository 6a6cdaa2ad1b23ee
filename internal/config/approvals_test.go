package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
)

const key = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

func TestApprovals(t *testing.T) {
	f, err := config.Parse(
		[]byte("version: belay/v1\napprovals: {timeout: 90s, quota: 5}\nreviewers:\n  - {name: dev, key: \"" + key +
			"\"}\nsingle_user: {auto_accept: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Approvals.Settings(); s.Timeout != 90*time.Second || s.Quota != 5 || s.Unsigned {
		t.Errorf("%+v", s)
	}
	if r := f.Authorities(); len(r) != 1 || r[0].Name != "dev" || len(r[0].Key) != 32 || !f.SingleUser.AutoAccept {
		t.Errorf("%+v", f)
	}
	for name, text := range map[string]string{
		"not a duration": "approvals: {timeout: soon}",
		"too short":      "approvals: {timeout: 10ms}",
		"too long":       "approvals: {timeout: 25h}",
		"negative":       "approvals: {quota: -1}",
		"too many":       "approvals: {quota: 1001}",
		"unknown member": "approvals: {time: 10m}",
		"unknown opt-in": "single_user: {auto: true}",
		"a truth value":  "single_user: {auto_accept: yes please}",
		"another key":    "reviewers: [{name: dev, key: \"rsa:AAAA\"}]",
		"a short key":    "reviewers: [{name: dev, key: \"ed25519:AAAA\"}]",
		"a bad name":     "reviewers: [{name: ../dev, key: \"" + key + "\"}]",
		"no name":        "reviewers: [{key: \"" + key + "\"}]",
		"one key, twice": "reviewers: [{name: a, key: \"" + key + "\"}, {name: b, key: \"" + key + "\"}]",
		"a name twice": "reviewers: [{name: a, key: \"" + key + "\"}, {name: a, key: \"" +
			strings.Replace(key, "AAAA", "AAAB", 1) + "\"}]",
		"base64 with junk": "reviewers: [{name: dev, key: \"" + strings.Replace(key, "A=", "B=", 1) + "\"}]",
	} {
		if _, err := config.Parse([]byte("version: belay/v1\n" + text + "\n")); !errors.Is(err, config.ErrConfig) ||
			!strings.Contains(err.Error(), "belay.yaml:2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReviewersAreEdited(t *testing.T) {
	out, err := config.AddReviewer([]byte(sample), config.Reviewer{Name: "dev", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"# our policy", "# the guard", "# first", key} {
		if !strings.Contains(string(out), c) {
			t.Errorf("%q is lost:\n%s", c, out)
		}
	}
	if _, err := config.AddReviewer(out, config.Reviewer{Name: "dev", Key: key}); !errors.Is(err, config.ErrConfig) {
		t.Errorf("twice: %v", err)
	}
	if _, err := config.RemoveReviewer(out, "nobody"); !errors.Is(err, config.ErrConfig) {
		t.Errorf("unknown: %v", err)
	}
	out, err = config.RemoveReviewer(out, "dev")
	if f, perr := config.Parse(out); err != nil || perr != nil || len(f.Reviewers) != 0 || len(f.Hooks) != 2 {
		t.Errorf("%v %v\n%s", err, perr, out)
	}
}
