// Package web reads requests and writes answers. It is what all operations of the API
// share.
//
//   - Router finds the handler of an address.
//   - Query, Cursor and Precondition read parameters and headers.
//   - ReadBody reads a JSON body and names every member that is wrong.
//   - Answer is a success. Problem is everything else, as RFC 9457 describes it.
//   - Kinds is the table of codes: the HTTP status and the title of each.
//
// It knows no resource and no store. An error that it returns is a *fault.InvalidError
// about a field, or an *Error if HTTP has a status of its own for it.
package web
