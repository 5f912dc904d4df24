package config

import "strings"

// InShell quotes an argument for a shell.
func InShell(arg string) string {
	if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return !plainInShell(r) }) {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return arg
}

func plainInShell(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("-_./:=@,+%", r)
}

// ChangeCommand is what a person types to change settings through the node with this API address.
func (c *Config) ChangeCommand(changes []string, api string) string {
	command := "crawlnode crawl-config set"
	for _, change := range changes {
		command += " " + InShell(change)
	}
	command += " --addr " + api
	if c.ClusterKeyFile != "" {
		command += " --cluster-key-file " + InShell(c.ClusterKeyFile)
	}
	return command
}
