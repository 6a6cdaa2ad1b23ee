package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// effectiveConfig tells the layer of each hook and key.
func (s *Server) effectiveConfig(w http.ResponseWriter, r *http.Request) {
	out, err := EffectiveIn(s.o.Dir)
	if err != nil {
		s.problem(w, r, http.StatusConflict, wire.ProblemBody{Code: wire.CodeConfig,
			Message: phases.SafeText(err.Error(), 4<<10), Hint: "The configuration before stays in use."})
		return
	}
	if t := s.o.Tenant; t != nil {
		if t.LayerProblem != nil {
			out.Problem = t.LayerProblem()
		}
		if t.Problem != nil && out.Problem == "" {
			out.Problem = t.Problem()
		}
	}
	s.write(w, r, http.StatusOK, out)
}

// EffectiveIn reads the configuration of a state directory with its layers.
func EffectiveIn(dir string) (*wire.EffectiveConfig, error) {
	file, err := config.ReadFile(dir)
	if err != nil {
		return nil, err
	}
	origin, err := files.Read(filepath.Join(dir, layers.OriginName), strictyaml.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		origin = nil
	} else if err != nil {
		return nil, err
	}
	out, err := layers.Effective(file, origin)
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(filepath.Join(dir, layers.UserName))
	out.UserFile = err == nil
	return out, nil
}

// userConfig takes the layer of the user whose directory it is.
func (s *Server) userConfig(w http.ResponseWriter, r *http.Request) {
	var body struct {
		File   *string `json:"file"`
		Remove bool    `json:"remove"`
	}
	if !s.document(w, r, 6*layers.MaxUser+maxSmallBody, &body) { // JSON has six bytes for some
		return
	}
	if (body.File == nil) != body.Remove {
		s.problem(w, r, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest,
			Message: `the body must be {"file": "…"} or {"remove": true}`})
		return
	}
	t := s.o.Tenant
	if t == nil || t.SetLayer == nil {
		s.problem(w, r, http.StatusConflict, wire.ProblemBody{Code: wire.CodeConfig,
			Message: "there are no layers: this is not the daemon of system mode", Hint: "Edit belay.yaml itself."})
		return
	}
	var file []byte
	if body.File != nil {
		file = []byte(*body.File)
	}
	errandOf(r.Context()).rest() // a turn is for work, and not for waiting
	s.layering.Lock()
	defer s.layering.Unlock()
	if errandOf(r.Context()).take(r.Context()) != nil {
		return // the caller has gone
	}
	// What has begun goes on also when the caller has gone: nothing is half applied.
	ctx := context.WithoutCancel(r.Context())
	defer s.changed()
	undo, err := t.SetLayer(ctx, file)
	if err == nil {
		if err = s.Reload(ctx); err != nil {
			err = errors.Join(err, undo(), s.Reload(ctx))
		}
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a user's layer was refused", slog.Any("error", err))
		p := wire.ProblemBody{
			Code:    wire.CodeConfig,
			Message: phases.SafeText(err.Error(), 4<<10),
			Hint:    "Nothing was changed.",
		}
		s.tries.add(r, &p)
		s.problem(w, r, http.StatusConflict, p)
		return
	}
	f, _, err := s.look(ctx)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "a user's layer was taken", slog.Bool("removed", body.Remove),
		slog.String("revision", f.status.Revision))
	s.write(w, r, http.StatusOK, client.Reloaded{Revision: f.status.Revision})
}
