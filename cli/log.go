package cli

import (
	"log/slog"

	"crawlnode/cli/command"
	"crawlnode/config"
)

// newLogger logs to standard error in the format that cfg asks for. The level
// can be changed while the node runs.
func newLogger(env *Env, cfg *config.Config) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(levelOf(cfg.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && command.IsTerminal(env.Stderr) {
		return slog.New(slog.NewTextHandler(env.Stderr, options)), level
	}
	return slog.New(slog.NewJSONHandler(env.Stderr, options)), level
}

// levelOf reads a level that config has checked.
func levelOf(name string) slog.Level {
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return slog.LevelInfo
	}
	return level
}
