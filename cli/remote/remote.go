package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
	"crawlnode/security/keyfile"
)

// Flags say how a verb reaches a node.
type Flags struct {
	Addr           string `group:"cluster" placeholder:"ADDR" help:"A node's --http address, of any node (or CRAWLNODE_ADDR; default: 127.0.0.1:27295)."`
	ClusterKeyFile string `name:"cluster-key-file" group:"cluster" placeholder:"FILE" help:"The cluster's key, when it has one (or CRAWLNODE_CLUSTER_KEY_FILE)."`
	TokenFile      string `name:"token-file" group:"cluster" placeholder:"FILE" help:"In place of the key: a token that keygen --role made (or CRAWLNODE_TOKEN_FILE)."`
}

// Dial returns the client; the error is one of the key file.
func (f *Flags) Dial(
	env *command.Env,
) (*client.Client, error) {
	return f.DialTo(env, f.Address(env))
}

// DialTo is Dial for the node at another address.
func (f *Flags) DialTo(env *command.Env, addr string) (*client.Client, error) {
	file := f.ClusterKeyFile
	if file == "" {
		file, _ = env.Lookup("CRAWLNODE_CLUSTER_KEY_FILE")
	}
	access, err := f.access(env, file)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{Addr: addr, Token: access.Token, TLS: access.TLS}), nil
}

// Address is that of the node that is asked.
func (f *Flags) Address(env *command.Env) string {
	addr := f.Addr
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

// SameNode are the flags with which another command in the same shell asks the same node: what
// the environment says holds there too.
func (f *Flags) SameNode(env *command.Env) string {
	var flags string
	if f.Addr != "" {
		flags += " --addr " + config.InShell(f.Address(env))
	}
	if f.ClusterKeyFile != "" {
		flags += " --cluster-key-file " + config.InShell(f.ClusterKeyFile)
	}
	if f.TokenFile != "" {
		flags += " --token-file " + config.InShell(f.TokenFile)
	}
	return flags
}

// access reads the key, or the token that stands in for it. What was typed wins over
// the environment, and there a token, which may do less.
func (f *Flags) access(env *command.Env, keyFile string) (keyfile.Access, error) {
	tokenFile := f.TokenFile
	if tokenFile != "" && f.ClusterKeyFile != "" {
		return keyfile.Access{}, errors.New("--token-file and --cluster-key-file: give one of them")
	}
	if tokenFile == "" && f.ClusterKeyFile == "" {
		tokenFile, _ = env.Lookup("CRAWLNODE_TOKEN_FILE")
	}
	if tokenFile != "" {
		access, err := keyfile.LoadToken(tokenFile)
		if err != nil {
			return access, fmt.Errorf("--token-file: %w", err)
		}
		return access, nil
	}
	access, err := keyfile.LoadAccess(keyFile)
	if err != nil {
		return access, fmt.Errorf("--cluster-key-file: %w", err)
	}
	return access, nil
}

// Ask dials the node, lets ask use it until a signal comes, and turns an error into an exit code.
func (f *Flags) Ask(
	ctx context.Context,
	env *command.Env,
	ask func(context.Context, *client.Client) error,
) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	c, err := f.Dial(env)
	if err != nil {
		return env.Fail(ExitCode(err), "%v", err)
	}
	defer c.Close()
	if err := ask(ctx, c); err != nil {
		return env.Fail(AnswerCode(err), "%v", err)
	}
	return command.ExitOK
}

// AnswerCode is the exit code of a failed request. What the cluster does not know was
// mistyped (usage); what it refuses or cannot decide is a cluster error.
func AnswerCode(err error) int {
	var failed *client.Error
	if !errors.As(err, &failed) {
		wrong := (*crawl.FieldErrors)(nil) // found without the node
		if errors.As(err, &wrong) || errors.Is(err, crawl.ErrNoURL) {
			return command.ExitUsage
		}
		return command.ExitError
	}
	switch failed.Code {
	case http.StatusNotFound, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return command.ExitUsage
	case http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusServiceUnavailable:
		return command.ExitCluster
	}
	return command.ExitError
}

// ExitCode is the code of an error of package node.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, node.ErrUsage):
		return command.ExitUsage
	case errors.Is(err, node.ErrNoRoom):
		return command.ExitSafety
	case errors.Is(err, node.ErrStorage):
		return command.ExitStorage
	case errors.Is(err, node.ErrCluster):
		return command.ExitCluster
	}
	return command.ExitError
}
