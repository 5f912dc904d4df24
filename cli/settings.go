package cli

import (
	"crawlnode/config"
)

// layered is the flag that the verbs with a node share beside the settings.
type layered struct {
	ConfigFile string `name:"config" group:"node" placeholder:"FILE" help:"YAML file with settings; flags and CRAWLNODE_<FLAG> win over it."`
	given      map[string]bool
}

func (l *layered) setGiven(given map[string]bool) { l.given = given }

// load puts flags, environment and file together. Flags that the verb forces
// count as given.
func (l *layered) load(env *Env, flags config.Config, forced ...string) (config.Config, error) {
	return config.Load(l.input(env, flags, forced...))
}

// input is what the settings are made from.
func (l *layered) input(env *Env, flags config.Config, forced ...string) config.Input {
	given := make(map[string]bool, len(l.given)+len(forced))
	for name := range l.given {
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
