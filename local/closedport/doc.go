// Package closedport gives tests a TCP address of loopback at which nothing listens, and at which
// nothing else can listen meanwhile. A port that was free a moment ago is no such address: the
// system gives it to the next program that asks for any port.
package closedport
