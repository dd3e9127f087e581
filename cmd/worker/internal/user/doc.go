// Package user is "worker user": it shows and changes the settings of a user, and
// exports or erases everything stored about a user.
package user
