package command

import (
	"crawlnode/config"
)

// Layered is the flag that the verbs with a node share beside the settings.
type Layered struct {
	ConfigFile string          `name:"config" group:"node" placeholder:"FILE" help:"YAML file with settings; flags and CRAWLNODE_<FLAG> win over it."`
	Given      map[string]bool `kong:"-"` // the flags that stand on the command line, by name
}

// SetGiven stores which flags stand on the command line.
func (l *Layered) SetGiven(given map[string]bool) { l.Given = given }

// Load puts flags, environment and file together. Flags that the verb forces
// count as given.
func (l *Layered) Load(env *Env, flags config.Config, forced ...string) (config.Config, error) {
	return config.Load(l.Input(env, flags, forced...))
}

// Input is what the settings are made from.
func (l *Layered) Input(env *Env, flags config.Config, forced ...string) config.Input {
	given := make(map[string]bool, len(l.Given)+len(forced))
	for name := range l.Given {
		given[name] = true
	}
	for _, name := range forced {
		given[name] = true
	}
	file := l.ConfigFile
	if file == "" {
		file, _ = env.Lookup("CRAWLNODE_CONFIG")
	}
	return config.Input{Flags: flags, Given: given, Env: env.Lookup, File: file}
}

// AllSettings are the flags of every setting.
type AllSettings struct {
	Layered       `embed:""`
	config.Groups `embed:""`
}

// Flags are what the command line says, whether given or not.
func (s *AllSettings) Flags() config.Config {
	return config.Config{Groups: s.Groups}
}
