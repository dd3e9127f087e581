CREATE TABLE IF NOT EXISTS sends (user_id text NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (user_id, at));

-- take takes a send time of a user, if the rules allow it: one caller of a user at a time.
CREATE OR REPLACE FUNCTION take(u text, t timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(u, 0));
  -- 1 in any minute.
  IF EXISTS (SELECT FROM sends WHERE user_id = u AND at > t - interval '1 minute' AND at < t + interval '1 minute') THEN
    RETURN false;
  END IF;
  -- 5 in any hour: with this one, no sixth is within an hour of a first.
  IF EXISTS (
    SELECT FROM (
      SELECT at, lead(at, 5) OVER (ORDER BY at) AS sixth FROM (
        SELECT at FROM sends WHERE user_id = u AND at > t - interval '1 hour' AND at < t + interval '1 hour'
        UNION ALL SELECT t) near
    ) windows WHERE sixth - at < interval '1 hour'
  ) THEN
    RETURN false;
  END IF;
  -- 10 in a day of UTC.
  IF (SELECT count(*) FROM sends WHERE user_id = u AND at >= date_trunc('day', t, 'UTC')
      AND at < date_trunc('day', t, 'UTC') + interval '1 day') >= 10 THEN
    RETURN false;
  END IF;
  INSERT INTO sends (user_id, at) VALUES (u, t);
  RETURN true;
END $$;
