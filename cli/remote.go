package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"crawlnode/api/client"
	"crawlnode/config"
	"crawlnode/node"
)

// remote is how a verb reaches a node.
type remote struct {
	Addr           string `group:"cluster" placeholder:"ADDR" help:"A node's --http address, of any node (or CRAWLNODE_ADDR; default: 127.0.0.1:27295)."`
	ClusterKeyFile string `name:"cluster-key-file" group:"cluster" placeholder:"FILE" help:"The cluster's key, when it has one (or CRAWLNODE_CLUSTER_KEY_FILE)."`
	TokenFile      string `name:"token-file" group:"cluster" placeholder:"FILE" help:"In place of the key: a token that keygen --role made (or CRAWLNODE_TOKEN_FILE)."`
}

// dial returns the client; the error is one of the key file.
func (r *remote) dial(env *Env) (*client.Client, error) {
	file := r.ClusterKeyFile
	if file == "" {
		file, _ = env.Lookup("CRAWLNODE_CLUSTER_KEY_FILE")
	}
	access, err := r.access(env, file)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{Addr: r.addressOf(env), Token: access.Token, TLS: access.TLS}), nil
}

// addressOf is the node that is asked.
func (r *remote) addressOf(env *Env) string {
	addr := r.Addr
	if addr == "" {
		addr, _ = env.Lookup("CRAWLNODE_ADDR")
	}
	usual := config.Default().HTTP
	if addr == "" {
		return usual
	}
	if _, port, err := net.SplitHostPort(usual); err == nil && !strings.ContainsAny(addr, ":/") {
		return net.JoinHostPort(addr, port) // a host alone
	}
	return addr
}

// access reads the key, or the token that stands in for it. What was typed wins over
// the environment, and there a token, which may do less.
func (r *remote) access(env *Env, keyFile string) (node.Access, error) {
	tokenFile := r.TokenFile
	if tokenFile != "" && r.ClusterKeyFile != "" {
		return node.Access{}, errors.New("--token-file and --cluster-key-file: give one of them")
	}
	if tokenFile == "" && r.ClusterKeyFile == "" {
		tokenFile, _ = env.Lookup("CRAWLNODE_TOKEN_FILE")
	}
	if tokenFile != "" {
		access, err := node.LoadToken(tokenFile)
		if err != nil {
			return access, fmt.Errorf("--token-file: %w", err)
		}
		return access, nil
	}
	access, err := node.LoadAccess(keyFile)
	if err != nil {
		return access, fmt.Errorf("--cluster-key-file: %w", err)
	}
	return access, nil
}
