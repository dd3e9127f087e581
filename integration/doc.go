// Package integration has only tests. They run the built programs and the packages
// against real servers: Redis, alone, with replicas and as a cluster, SMTP, HTTP and a
// network that fails.
package integration
