package crawl

import (
	"context"
	"errors"
	"fmt"
)

// Role is the access level of a caller; each includes those before it.
type Role uint8

// The roles. A token has one of the last three.
const (
	RoleNobody  Role = iota // no secret: only the public paths
	RoleRead                // sees everything and changes nothing
	RoleOperate             // pauses, resumes, adds seeds
	RoleAdmin               // stops, changes settings, drains, forgets, revokes, replaces the key
)

var roleNames = [...]string{"nobody", "read", "operate", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole parses the role of a token.
func ParseRole(word string) (Role, error) {
	for r := RoleRead; r <= RoleAdmin; r++ {
		if roleNames[r] == word {
			return r, nil
		}
	}
	return RoleNobody, fmt.Errorf("a role must be read, operate or admin, not %.40q", word)
}

// Caller is the caller of an API request.
type Caller struct {
	// ID is that of the token, KeyCaller for the key's own, or "" where none is needed.
	ID   string
	Role Role
	From string // IP address
	// Remote says that the request came through a network, or could have: the cluster has a key, or
	// the connection is not from this machine.
	Remote bool
}

// KeyCaller is the id of a caller with the cluster's key itself.
const KeyCaller = "cluster-key"

type callerKey struct{}

// WithCaller stores the caller in ctx.
func WithCaller(ctx context.Context, a Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, a)
}

// CallerOf is the caller stored in ctx. Without one it is the node's own program, which may do
// everything.
func CallerOf(ctx context.Context) Caller {
	if a, ok := ctx.Value(callerKey{}).(Caller); ok {
		return a
	}
	return Caller{Role: RoleAdmin}
}

// ErrForbidden is inside an error when the caller lacks a right. The API answers 403.
var ErrForbidden = errors.New("not allowed")

// KeyRotation requests a new key for the cluster.
type KeyRotation struct {
	Key string `json:"key"` // its text, as in its file
}

// RotationOver is the last step of a RotationReport.
const RotationOver = "alone"

// RotationReport is the progress of the replacement of the cluster's key.
type RotationReport struct {
	Fingerprint string `json:"fingerprint"` // of the new key
	// Step is known (all accept both keys, once all have confirmed it), used (the new key is sent)
	// or alone (the old one is refused: the rotation is complete).
	Step string `json:"step"`
	// Waiting names the members that have not confirmed the step yet.
	Waiting []string `json:"waiting"`
}

// RevokeReport is the answer to a token's revocation.
type RevokeReport struct {
	ID string `json:"id"`
	// Untold names the members that did not answer in time. They follow as soon as they can be
	// reached; until then they accept the token.
	Untold []string `json:"untold"`
}
