// Shows each push as the documentation of package webpush says, and tells the test what the
// browser shows then. A push whose data has "leave" ends the subscription.

const tell = (path, what) => fetch(path, {method: 'POST', body: JSON.stringify(what)})

async function show(event) {
  const payload = event.data.json()
  const {notification: {title, ...shown}} = payload
  await self.registration.showNotification(title, shown)
  const visible = await self.registration.getNotifications()
  const {body, tag, data} = visible.find(each => each.tag === shown.tag)
  if (data?.leave) {
    const subscription = await self.registration.pushManager.getSubscription()
    await subscription.unsubscribe()
  }
  await tell('shown', {title, body, tag, data, visible: visible.length, payload})
}

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()))
self.addEventListener('push', event => {
  event.waitUntil(show(event).catch(err => tell('failed', `push: ${err}`)))
})
